// The options of srun and sbatch, one line each.
#pragma once

#include "node/job/srun/srun_options.hpp"
#include "shared/core/result.hpp"

#include <getopt.h>
#include <span>
#include <string_view>

namespace dockdist::node {

enum class Takes : int { nothing = no_argument, value = required_argument, perhaps = optional_argument };

struct SrunWord {
    const char* name;
    char letter; // 0: none
    Takes takes;
    // None: it is of no effect here.
    Status (*read)(SrunOptions&, std::string_view name, std::string_view value);
    const char* variable = nullptr; // that says it where the command line does not
};

std::span<const SrunWord> srun_words();
std::span<const SrunWord> sbatch_words();

} // namespace dockdist::node
