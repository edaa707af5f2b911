#include "client/check/holder_rows.hpp"

#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace dockdist {
namespace {

constexpr std::int64_t young_s = 60;

bool is_gpu(const wire::GpuFacts& facts) {
    return !is_slot(facts.unit);
}

// Why nobody can know the job behind a hold; empty: it is there, or not for this node to say.
std::string why_gone(const wire::GpuParty& by, const CheckedNode& node,
                     const std::vector<std::string>& in_file) {
    if (by.job.empty()) {
        return "processes of a job that no node knows any more";
    }
    if (std::ranges::find(in_file, by.node) == in_file.end()) {
        return fmt::format("{} of {}, which is not a node of the file", printable(by.job),
                           printable(by.node));
    }
    const auto& system = node.facts.system;
    if (by.node == node.name.str() && by.job != wire::session_job && system &&
        std::ranges::find(system->jobs, by.job) == system->jobs.end()) {
        return fmt::format("{}, which the node does not know as running", printable(by.job));
    }
    return "";
}

std::string hint_for(const wire::GpuParty& by, const std::vector<std::string>& in_file) {
    if (by.job.empty()) {
        return "`dockdist exec NODE -- ps -ef` shows what runs there; `dockdist down` and `dockdist up` end "
               "it";
    }
    return std::ranges::find(in_file, by.node) == in_file.end()
               ? "`dockdist status` shows it as left over; `dockdist up` or `down` with the file that it is "
                 "from removes it"
               : "`dockdist stop " + printable(by.job) + "` ends what is left of it there";
}

} // namespace

std::vector<CheckRow> judge_holders(const std::string& cluster, const std::vector<std::string>& in_file,
                                    const std::vector<CheckedNode>& nodes,
                                    const std::vector<Result<wire::GpuReport>>& reports) {
    std::vector<CheckRow> rows;
    std::set<std::string> told; // units: all nodes of a host see them
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        CheckRow row{.layer = CheckLayer::host, .subject = nodes[i].name.str(), .check = "holders"};
        if (!reports[i]) {
            row.state = CheckRow::State::warn;
            row.text = printable(reports[i].error().message);
            row.hint = reports[i].error().hint;
            rows.push_back(std::move(row));
            continue;
        }
        std::map<std::pair<std::string, std::string>, std::pair<std::string, std::int64_t>>
            gone; // why and what to do → which, since when
        for (const auto& facts : reports[i]->units) {
            if (!facts.hold || facts.hold->outside || facts.hold->by.cluster != cluster ||
                facts.hold->by.age_s < young_s) {
                continue;
            }
            const auto& by = facts.hold->by;
            auto why = why_gone(by, nodes[i], in_file);
            if (why.empty() || !told.insert(facts.unit.id).second) {
                continue;
            }
            auto& [which, age_s] = gone[{std::move(why), hint_for(by, in_file)}];
            which += (which.empty() ? "" : ", ") + unit_name(facts.unit);
            age_s = std::max(age_s, by.age_s);
        }
        for (const auto& [why, which] : gone) {
            auto warning = row;
            warning.state = CheckRow::State::warn;
            warning.text = fmt::format("{} held for {} by {}", which.first,
                                       format_age(std::chrono::seconds(which.second)), why.first);
            warning.hint = why.second;
            rows.push_back(std::move(warning));
        }
        if (gone.empty() && std::ranges::any_of(reports[i]->units, is_gpu)) {
            row.text = "GPUs are held by jobs that run, or free";
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

} // namespace dockdist
