// Scripts for Slurm's sbatch: their #SBATCH lines, and command lines that run one.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

struct BatchLine {
    int number = 0; // from 1
    std::vector<std::string> words{};
    bool operator==(const BatchLine&) const = default;
};

// Pure: the #SBATCH lines above the script's first command, in words: quotes keep blanks, # ends a line.
std::vector<BatchLine> batch_lines(std::string_view script);

// As much of a file as can hold them; empty where it cannot be read.
std::string head_of_script(const std::string& path);

// Where in `bash -x train.sbatch ARG…` or `./train.sbatch` the script stands, if it is one with #SBATCH
// lines. A relative name counts from `folder`, empty: from here.
std::optional<std::size_t> find_batch_script(const std::vector<std::string>& command,
                                             const std::string& folder = "");

// What runs `command` with all that sbatch would give it, where it is such a script; else `command`.
std::vector<std::string> as_batch(std::vector<std::string> command);

inline constexpr const char* batch_command = "batch"; // of dockdist-init

} // namespace dockdist::node
