#include "image/pull_tracker.hpp"

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
    CHECK(tracker.text() == "extract, 0 of 1 layers");
    CHECK_FALSE(tracker.total().has_value());
}

} // namespace pull_tracker_test
