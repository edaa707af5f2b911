#include "shared/core/scontrol_records.hpp"

#include "shared/core/text.hpp"

#include <algorithm>

namespace dockdist {
namespace {

// Empty where no line begins so.
std::string_view line_with(ScontrolLines lines, std::string_view first) {
    for (const auto& each : lines) {
        auto line = std::string_view(each);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with(first)) {
            return line;
        }
    }
    return {};
}

} // namespace

std::string scontrol_value(ScontrolLines lines, std::string_view first, std::string_view key) {
    for (const auto& word : split(line_with(lines, first), ' ')) {
        if (word.starts_with(key)) {
            return word.substr(key.size());
        }
    }
    return {};
}

std::string scontrol_rest(ScontrolLines lines, std::string_view key) {
    const auto line = line_with(lines, key);
    return line.empty() ? std::string() : std::string(line.substr(key.size()));
}

} // namespace dockdist
