#include "shared/core/proxies.hpp"

#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

#include <functional>
#include <set>

namespace dockdist {

std::string in_capitals(std::string_view name) {
    std::string capitals(name);
    for (auto& c : capitals) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return capitals;
}

std::string with_names(const std::string& list, const std::vector<std::string>& names) {
    std::set<std::string, std::less<>> known;
    const auto parts = split(list, ',');
    for (const auto& part : parts) {
        known.emplace(trimmed(part));
    }
    auto whole = list;
    for (const auto& name : names) {
        if (!name.empty() && !known.contains("*") && known.insert(name).second) {
            whole += (whole.empty() ? "" : ",") + name;
        }
    }
    return whole;
}

} // namespace dockdist
