#include "client/engine/json_decode.hpp"
#include "client/image/pull_tracker.hpp"

#include <doctest/doctest.h>

namespace pull_tracker_test {

using namespace dockdist;

namespace {

PullProgress message(const char* layer, const char* status) {
    return {.layer = layer, .status = status};
}

PullProgress message(const char* layer, const char* status, std::uint64_t current, std::uint64_t total) {
    return {.layer = layer, .status = status, .current = current, .total = total};
}

// A line of the engine's.
void said(PullTracker& tracker, const char* line) {
    const auto message = decode_pull_message(line);
    REQUIRE(message.has_value());
    tracker.apply(*message);
}

} // namespace

TEST_CASE("a pull of three layers: the sum is told only when every size is known") {
    PullTracker tracker;
    CHECK(tracker.text() == "ask the registry");
    tracker.apply(message("2.6", "Pulling from pytorch/pytorch"));
    CHECK(tracker.text() == "ask the registry");
    tracker.apply(message("a", "Already exists"));
    tracker.apply(message("b", "Pulling fs layer"));
    tracker.apply(message("c", "Pulling fs layer"));
    tracker.apply(message("b", "Downloading", 10, 100));
    CHECK(tracker.text() == "download, 1 of 3 layers");
    CHECK(tracker.current() == 10);
    CHECK_FALSE(tracker.total().has_value());
    tracker.apply(message("c", "Downloading", 5, 50));
    CHECK(tracker.total() == 150);
    tracker.apply(message("b", "Verifying Checksum"));
    CHECK(tracker.current() == 105);
    CHECK(tracker.text() == "download, 2 of 3 layers");
}

TEST_CASE("what containerd calls its transfer of a layer is a download") {
    PullTracker tracker;
    tracker.apply(message("a", "Waiting"));
    tracker.apply(message("a", "Pulling layer fs", 10, 100));
    CHECK(tracker.text() == "download, 0 of 1 layers");
    CHECK(tracker.current() == 10);
    CHECK(tracker.total() == 100);
}

TEST_CASE("when all is downloaded, the extraction counts") {
    PullTracker tracker;
    tracker.apply(message("b", "Downloading", 100, 100));
    tracker.apply(message("b", "Download complete"));
    tracker.apply(message("c", "Downloading", 49, 50));
    tracker.apply(message("b", "Extracting", 30, 100));
    CHECK(tracker.current() == 149);
    tracker.apply(message("c", "Download complete"));
    CHECK(tracker.text() == "extract, 0 of 2 layers");
    CHECK(tracker.current() == 30);
    tracker.apply(message("b", "Pull complete"));
    CHECK(tracker.text() == "extract, 1 of 2 layers");
    CHECK(tracker.current() == 100);
    tracker.apply(message("b", "Downloading", 1, 100)); // a late message takes nothing back
    CHECK(tracker.current() == 100);
    CHECK(tracker.total() == 150);
}

TEST_CASE("a layer whose size nobody told, and messages of no layer") {
    PullTracker tracker;
    tracker.apply(message("", "Digest: sha256:00"));
    tracker.apply(message("a", "Retrying in 5 seconds"));
    tracker.apply(message("a", "Downloading", 7, 0));
    CHECK(tracker.current() == 7);
    CHECK_FALSE(tracker.total().has_value());
    tracker.apply(message("a", "Download complete"));
    CHECK(tracker.text() == "extract");
    CHECK_FALSE(tracker.total().has_value());
}

// What Docker 26.1 said of a pull into containerd's image store; while it extracted, ten seconds of nothing.
TEST_CASE("of an extraction of which the engine tells nothing, nothing is told") {
    PullTracker tracker;
    CHECK_FALSE(tracker.has_begun());
    said(tracker, R"({"status":"Pulling from train","id":"1"})");
    said(tracker, R"({"status":"Pulling fs layer","progressDetail":{},"id":"ec0ec4a6c525"})");
    CHECK_FALSE(tracker.has_begun());
    said(tracker, R"({"status":"Downloading","progressDetail":{"current":3145728,"total":306227633},)"
                  R"("progress":"[\u003e    ]  3.146MB/306.2MB","id":"ec0ec4a6c525"})");
    CHECK(tracker.text() == "download, 0 of 1 layers");
    CHECK(tracker.current() == 3145728);
    CHECK(tracker.total() == 306227633);
    said(tracker,
         R"({"status":"Download complete","progressDetail":{"hidecounts":true},"id":"ec0ec4a6c525"})");
    CHECK(tracker.has_begun());
    CHECK(tracker.text() == "extract");
    CHECK_FALSE(tracker.current().has_value());
    CHECK_FALSE(tracker.total().has_value());
}

// As later versions do (moby, daemon/containerd/progress.go).
TEST_CASE("seconds of an extraction are no bytes of it") {
    PullTracker tracker;
    said(tracker, R"({"status":"Downloading","progressDetail":{"current":100,"total":100},"id":"a"})");
    said(tracker, R"({"status":"Download complete","progressDetail":{"hidecounts":true},"id":"a"})");
    said(tracker, R"({"status":"Download complete","progressDetail":{"hidecounts":true},"id":"b"})");
    said(tracker,
         R"({"status":"Extracting","progressDetail":{"current":3,"units":"s"},"progress":"3 s","id":"a"})");
    CHECK(tracker.text() == "extract");
    CHECK_FALSE(tracker.current().has_value());
    said(tracker, R"({"status":"Pull complete","progressDetail":{"hidecounts":true},"id":"a"})");
    CHECK(tracker.text() == "extract, 1 of 2 layers");
    CHECK_FALSE(tracker.total().has_value());
}

} // namespace pull_tracker_test
