#include "image/pull_course.hpp"

#include <doctest/doctest.h>

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
    PullCourse course;
    CHECK(course.text() == "ask the registry");
    course.apply(message("2.6", "Pulling from pytorch/pytorch"));
    CHECK(course.text() == "ask the registry");
    course.apply(message("a", "Already exists"));
    course.apply(message("b", "Pulling fs layer"));
    course.apply(message("c", "Pulling fs layer"));
    course.apply(message("b", "Downloading", 10, 100));
    CHECK(course.text() == "download, 1 of 3 layers");
    CHECK(course.current() == 10);
    CHECK_FALSE(course.total().has_value());
    course.apply(message("c", "Downloading", 5, 50));
    CHECK(course.total() == 150);
    course.apply(message("b", "Verifying Checksum"));
    CHECK(course.current() == 105);
    CHECK(course.text() == "download, 2 of 3 layers");
}

TEST_CASE("when all is downloaded, the extraction counts") {
    PullCourse course;
    course.apply(message("b", "Downloading", 100, 100));
    course.apply(message("b", "Download complete"));
    course.apply(message("c", "Downloading", 49, 50));
    course.apply(message("b", "Extracting", 30, 100));
    CHECK(course.current() == 149);
    course.apply(message("c", "Download complete"));
    CHECK(course.text() == "extract, 0 of 2 layers");
    CHECK(course.current() == 30);
    course.apply(message("b", "Pull complete"));
    CHECK(course.text() == "extract, 1 of 2 layers");
    CHECK(course.current() == 100);
    course.apply(message("b", "Downloading", 1, 100)); // a late message takes nothing back
    CHECK(course.current() == 100);
    CHECK(course.total() == 150);
}

TEST_CASE("a layer whose size nobody told, and messages of no layer") {
    PullCourse course;
    course.apply(message("", "Digest: sha256:00"));
    course.apply(message("a", "Retrying in 5 seconds"));
    course.apply(message("a", "Downloading", 7, 0));
    CHECK(course.current() == 7);
    CHECK_FALSE(course.total().has_value());
    course.apply(message("a", "Download complete"));
    CHECK(course.text() == "extract, 0 of 1 layers");
    CHECK_FALSE(course.total().has_value());
}
