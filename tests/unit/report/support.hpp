// What the tests of report/ share: sinks that keep, a clock that stands still, golden files.
#pragma once

#include "report/output.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace dockdist::test {

class KeepingSink : public OutputSink {
public:
    void write(int fd, std::string_view bytes) override {
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

// Compares with tests/golden/report/NAME. With DOCKDIST_UPDATE_GOLDEN=1 in the environment it writes the file
// instead: read the difference before you commit it.
inline void check_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(DOCKDIST_SOURCE_DIR "/tests/golden/report/") + name;
    if (std::getenv("DOCKDIST_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), "no golden file " << path);
    CHECK(text == std::string(std::istreambuf_iterator<char>(file), {}));
}

} // namespace dockdist::test
