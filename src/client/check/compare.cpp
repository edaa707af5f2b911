#include "client/check/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace dockdist {
namespace {

auto what(const CheckRow& row) {
    return std::tie(row.layer, row.check, row.state, row.text, row.hint);
}

std::string subject_of(const std::vector<std::string>& subjects, const std::vector<std::string>& all,
                       const char* word) {
    const bool whole = all.size() > 1 && std::ranges::all_of(all, [&](const std::string& name) {
                           return std::ranges::find(subjects, name) != subjects.end();
                       });
    return whole ? word : list_names(subjects);
}

} // namespace

OddOnes find_odd(const std::vector<std::pair<std::string, std::string>>& values) {
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;
    for (const auto& [who, value] : values) {
        auto group =
            std::ranges::find(groups, value, &std::pair<std::string, std::vector<std::string>>::first);
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {value, {}});
        }
        group->second.push_back(who);
    }
    OddOnes odd;
    const auto most = std::ranges::max_element(
        groups, {}, [](const auto& group) { return group.second.size(); }); // the first of the largest
    if (most == groups.end()) {
        return odd;
    }
    odd.common = most->first;
    odd.with_common = most->second;
    groups.erase(most);
    odd.others = std::move(groups);
    return odd;
}

std::vector<CheckRow> odd_rows(const OddOnes& odd, const CheckRow& model, const std::string& prefix) {
    std::vector<CheckRow> rows;
    for (const auto& [value, who] : odd.others) {
        auto row = model;
        row.subject = list_names(who);
        row.text = fmt::format("{}{}, and {} {} {}", prefix, value.empty() ? "none" : value,
                               list_names(odd.with_common), odd.with_common.size() == 1 ? "has" : "have",
                               odd.common.empty() ? "none" : odd.common);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<CheckRow> merge_rows(std::vector<CheckRow> rows, const std::vector<std::string>& hosts,
                                 const std::vector<std::string>& nodes) {
    std::vector<CheckRow> merged;
    std::vector<std::vector<std::string>> subjects;
    for (auto& row : rows) {
        const auto same =
            std::ranges::find_if(merged, [&](const CheckRow& one) { return what(one) == what(row); });
        if (same != merged.end()) {
            subjects[static_cast<std::size_t>(same - merged.begin())].push_back(row.subject);
        } else {
            subjects.push_back({row.subject});
            merged.push_back(std::move(row));
        }
    }
    for (std::size_t i = 0; i < merged.size(); ++i) {
        const bool engine = merged[i].layer == CheckLayer::engine;
        merged[i].subject =
            subject_of(subjects[i], engine ? hosts : nodes, engine ? "all hosts" : "all nodes");
    }
    return merged;
}

} // namespace dockdist
