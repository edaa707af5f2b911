// What `scontrol show` prints: records of lines "   KEY=VALUE KEY=VALUE". (Tried: Slurm 22.05. Each record
// ends with an empty line. What a user has chosen himself, as Command and Comment, has a line of its own;
// JobName stands behind JobId.)
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dockdist {

using ScontrolLines = std::span<const std::string>;

// The value of `key` in the first line that begins with `first`, or of `first` itself where both are the
// same; up to a blank. Keys end with "=". Empty where there is none.
std::string scontrol_value(ScontrolLines lines, std::string_view first, std::string_view key);
inline std::string scontrol_value(ScontrolLines lines, std::string_view key) {
    return scontrol_value(lines, key, key);
}

// The rest of the first line that begins with `key`: a path may have blanks.
std::string scontrol_rest(ScontrolLines lines, std::string_view key);

} // namespace dockdist
