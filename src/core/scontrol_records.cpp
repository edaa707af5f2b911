#include "core/scontrol_records.hpp"

#include "core/text.hpp"

#include <algorithm>

namespace dockdist {

std::string scontrol_value(ScontrolLines lines, std::string_view first, std::string_view key) {
    for (const auto& each : lines) {
        auto line = std::string_view(each);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (!line.starts_with(first)) {
            continue;
        }
        for (const auto& word : split(line, ' ')) {
            if (word.starts_with(key)) {
                return word.substr(key.size());
            }
        }
    }
    return {};
}

} // namespace dockdist
