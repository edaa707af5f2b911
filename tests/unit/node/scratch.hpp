// A folder that goes with the test.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

struct Scratch {
    std::string path = "/tmp/dockdist-unit-XXXXXX";
    Scratch() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove_all(path); }
    std::string operator/(const char* name) const { return path + "/" + name; }
};
