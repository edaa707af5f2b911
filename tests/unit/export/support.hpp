// What the tests of export/ share: jobs made of a cluster.yaml and of what `run` would be given.
#pragma once

#include "client/export/export_job.hpp"

#include <string>
#include <vector>

namespace dockdist::test {

struct Line {
    std::string launcher = "plain";
    std::vector<std::string> command{"train.py"};
    std::string name{};    // empty: the file's
    std::size_t nodes = 0; // 0: those of the file
    std::optional<int> gpus{};
    bool per_rank = false;
    std::string via{};
    std::vector<std::string> launcher_args{};
    std::map<std::string, std::string> env{};
    Roles roles{};
};

// Of a file that is right; fails the test where it is not, or its nodes cannot be placed.
ExportJob job_of(const std::string& yaml, const Line& line);

} // namespace dockdist::test
