// Golden files: what people read, compared whole. DOCKDIST_UPDATE_GOLDEN=1 writes them anew.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

inline void check_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(DOCKDIST_SOURCE_DIR) + "/tests/golden/" + name;
    if (std::getenv("DOCKDIST_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path) << text;
    }
    std::ifstream file(path);
    REQUIRE_MESSAGE(file.good(), "no golden file " << path);
    const std::string wanted{std::istreambuf_iterator<char>(file), {}};
    CHECK_MESSAGE(text == wanted, "differs from " << path << ":\n" << text);
}
