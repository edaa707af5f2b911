// What the tests of report/ share: sinks that keep, a clock that stands still, golden files.
#pragma once

#include "client/report/output.hpp"
#include "golden.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace dockdist::test {

class KeepingSink : public OutputSink {
public:
    void write(int fd, const Displayable& text) override {
        const auto bytes = text.bytes();
        written[fd] += bytes;
        largest = std::max(largest, bytes.size());
        ++writes;
    }
    std::map<int, std::string> written{};
    std::size_t writes = 0;
    std::size_t largest = 0;
};

struct FakeClock {
    std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
    void advance(std::chrono::milliseconds by) { now += by; }
    auto reader() {
        return [this] { return now; };
    }
};

} // namespace dockdist::test
