#include "client/data/data_text.hpp"

#include "client/report/table.hpp"
#include "client/sync/sync_text.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace dockdist {
namespace {

std::string files_text(std::uint64_t files, std::uint64_t bytes) {
    return fmt::format("{} ({})", counted(files, "file"), format_size(Bytes{bytes}));
}

// One word of a host, for programs.
const char* state_word(const DataHost& host, DataWork work) {
    return host.is_origin                   ? "source"
           : host.absent                    ? "absent"
           : !host.node.errors.empty()      ? "unknown"
           : !host.node.shared_with.empty() ? "shared"
           : work == DataWork::remove       ? "removed"
           : host.node.plan.empty()         ? "complete"
           : work == DataWork::push         ? "sent"
                                            : "differs";
}

} // namespace

std::string shown_data_source(const DataSpec& data) {
    return data.host.empty() ? data.source : data.host + ":" + data.source;
}

std::string state_text(const DataHost& host, const DataState& state) {
    const auto& plan = host.node.plan;
    if (host.is_origin) {
        return "has it: it comes from there";
    }
    if (host.absent) {
        return "absent";
    }
    if (!host.node.errors.empty()) {
        return "not known";
    }
    if (!host.node.shared_with.empty()) {
        return "shares that of " + host.node.shared_with;
    }
    if (plan.empty()) {
        return "complete";
    }
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (plan.files > 0) {
        add((plan.files == state.files ? "lacks all of " : "lacks ") + files_text(plan.files, plan.bytes));
    }
    if (plan.removed > 0) {
        add(fmt::format("has {} that {} not there", plan.removed, plan.removed == 1 ? "is" : "are"));
    }
    if (plan.others > 0) {
        add(plan.others == 1 ? std::string("1 folder, link or mode differs")
                             : fmt::format("{} folders, links or modes differ", plan.others));
    }
    return text;
}

std::string to_table(const DataStates& states, const ClusterSpec& spec, const OutputTraits& output) {
    Table table({{.title = "TO", .narrow = Narrow::middle, .least = 12},
                 {.title = "HOST", .narrow = Narrow::middle},
                 {.title = "FILES", .align = Align::right, .give_up = 1},
                 {.title = "SIZE", .align = Align::right, .give_up = 2},
                 {.title = "STATE", .narrow = Narrow::wrap, .least = 20, .paint = state_style}});
    for (const auto& [data, state] : states) {
        for (const auto& host : state.hosts) {
            table.add_row({data.target, spec.hosts[host.host].name.str(), std::to_string(state.files),
                           format_size(Bytes{state.bytes}), state_text(host, state)});
        }
    }
    return table.to_text(std::numeric_limits<std::size_t>::max(), output);
}

std::string pushed_text(const DataSpec& data, const DataState& state, const ClusterSpec& spec) {
    std::vector<std::pair<std::string, std::vector<std::string>>> groups; // what was done, to whom
    for (const auto& host : state.hosts) {
        if (!host.node.errors.empty()) {
            continue;
        }
        const auto done = host.is_origin                   ? std::string("it comes from there")
                          : !host.node.shared_with.empty() ? "shares that of " + host.node.shared_with
                          : host.node.plan.empty()         ? std::string("had it all")
                                                           : plan_summary(host.node.plan);
        auto group =
            std::ranges::find(groups, done, &std::pair<std::string, std::vector<std::string>>::first);
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {done, {}});
        }
        group->second.push_back(spec.hosts[host.host].name.str());
    }
    std::string text;
    for (const auto& [done, hosts] : groups) {
        text += text.empty() ? "" : "; ";
        text += hosts.size() > 3 ? fmt::format("{} hosts: {}", hosts.size(), done)
                                 : fmt::format("{}: {}", fmt::join(hosts, ", "), done);
    }
    return fmt::format("{} → {}: {}\n", printable(shown_data_source(data)), printable(data.target), text);
}

std::string removed_text(const DataSpec& data, const DataState& state, const ClusterSpec& spec) {
    std::vector<std::string> hosts;
    for (const auto& host : state.hosts) {
        if (!host.is_origin && !host.absent && host.node.errors.empty()) {
            hosts.push_back(spec.hosts[host.host].name.str());
        }
    }
    return hosts.empty()
               ? fmt::format("no host has anything in {}\n", printable(data.target))
               : fmt::format("removed what {} has from {} on {}\n", printable(shown_data_source(data)),
                             printable(data.target), list_names(hosts));
}

nlohmann::json to_json(const DataSpec& data, const DataState& state, const ClusterSpec& spec, DataWork work) {
    auto hosts = nlohmann::json::array();
    for (const auto& host : state.hosts) {
        nlohmann::json row{{"host", spec.hosts[host.host].name.str()},
                           {"state", state_word(host, work)},
                           {"files", host.node.plan.files},
                           {"bytes", host.node.plan.bytes},
                           {"removed", host.node.plan.removed},
                           {"others", host.node.plan.others}};
        if (!host.node.shared_with.empty()) {
            row["shared_with"] = host.node.shared_with;
        }
        hosts.push_back(std::move(row));
    }
    return {{"from", shown_data_source(data)},
            {"to", data.target},
            {"files", state.files},
            {"bytes", state.bytes},
            {"same", state.same_everywhere()},
            {"left_out", state.left_out},
            {"hosts", std::move(hosts)}};
}

} // namespace dockdist
