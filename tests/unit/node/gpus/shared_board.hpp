// A host's board in a folder of the test's own, for as many participants as it makes.
#pragma once

#include "node/gpus/board_file.hpp"
#include "unit/node/scratch.hpp"

#include <cstdlib>

namespace dockdist::node {

struct SharedBoard {
    Scratch scratch{};
    SharedBoard() { ::setenv("DOCKDIST_TEST_GPUS", scratch.path.c_str(), 1); }
    SharedBoard(const SharedBoard&) = delete;
    SharedBoard& operator=(const SharedBoard&) = delete;
    ~SharedBoard() { ::unsetenv("DOCKDIST_TEST_GPUS"); }

    static BoardFile open() {
        auto file = BoardFile::open();
        REQUIRE(file.has_value());
        return std::move(*file);
    }
    static std::vector<std::string> jobs() {
        std::vector<std::string> names;
        const auto board = *open().read();
        for (const auto& entry : board.entries) {
            names.push_back(entry.who.job);
        }
        return names;
    }
};

} // namespace dockdist::node
