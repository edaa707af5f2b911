// An allocation of Slurm, as `scontrol show` tells of it.
#include "client/spec/inventory_builder.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/scontrol_records.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace dockdist {
namespace {

constexpr std::string_view nothing = "(null)";

// "gpu:2(IDX:0-1),gpu:h100:1(IDX:3),shard:4" at its commas outside of parentheses.
std::vector<std::string> resources_of(std::string_view text) {
    std::vector<std::string> parts{""};
    int depth = 0;
    for (const char c : text) {
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && depth == 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

bool is_gpu(std::string_view resource) {
    return resource == "gpu" || resource.starts_with("gpu:");
}

// "0-1,3" as single indices.
Result<std::vector<std::string>> indices_of(std::string_view text) {
    auto indices = read_host_list(fmt::format("[{}]", text));
    if (indices && !std::ranges::all_of(
                       *indices, [](const auto& each) { return whole_number<int>(each).has_value(); })) {
        return list_error(0, fmt::format("`IDX:{}` names no GPUs", printable(text)));
    }
    return indices;
}

// What of a node's GPUs is the job's: their places where Slurm knows them, else their number.
Result<GpuSpec> gpus_of(std::string_view resources) {
    GpuSpec gpus{.kind = GpuSpec::Kind::none};
    for (const auto& resource : resources_of(resources)) {
        if (!is_gpu(resource)) {
            continue;
        }
        constexpr std::string_view index_begin = "(IDX:";
        const auto index_at = resource.find(index_begin);
        const auto amount = std::string_view(resource).substr(0, resource.find('('));
        const auto count = whole_number<int>(amount.substr(amount.rfind(':') + 1));
        if (!count || *count < 0) {
            return list_error(0, fmt::format("`GRES={}` does not say how many GPUs", printable(resource)));
        }
        const auto begin = index_at + index_begin.size();
        const auto places = index_at == std::string::npos
                                ? std::string_view()
                                : std::string_view(resource).substr(begin, resource.find(')', begin) - begin);
        if (places.empty() || places == "N/A") {
            gpus.count += *count;
            continue;
        }
        auto indices = indices_of(places);
        TRY(indices);
        gpus.devices.insert(gpus.devices.end(), indices->begin(), indices->end());
    }
    if (!gpus.devices.empty()) {
        gpus.kind = GpuSpec::Kind::devices;
        gpus.count = 0;
    } else if (gpus.count > 0) {
        gpus.kind = GpuSpec::Kind::count;
    }
    return gpus;
}

// From the lines "     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=gpu:1(IDX:0)".
Result<std::map<std::string, GpuSpec>> gpus_by_node(ScontrolLines job) {
    std::map<std::string, GpuSpec> gpus;
    for (const auto& each : job) {
        const ScontrolLines line(&each, 1);
        const auto list = scontrol_value(line, "Nodes=");
        if (list.empty()) {
            continue;
        }
        auto nodes = read_host_list(list);
        TRY(nodes);
        const auto given = gpus_of(scontrol_value(line, "Nodes=", "GRES="));
        TRY(given);
        for (const auto& node : *nodes) {
            gpus.insert_or_assign(node, *given);
        }
    }
    return gpus;
}

// Of a job that named none Slurm counts one a node.
int tasks_a_node(ScontrolLines job, std::size_t nodes) {
    const auto asked = scontrol_value(job, "Socks/Node=", "NtasksPerN:B:S:C=");
    if (const auto each = whole_number<int>(std::string_view(asked).substr(0, asked.find(':')));
        each.value_or(0) > 0) {
        return *each;
    }
    const auto all = whole_number<int>(scontrol_value(job, "NumNodes=", "NumTasks=")).value_or(0);
    const auto count = static_cast<int>(nodes);
    return std::max((all + count - 1) / count, 1);
}

Error no_nodes(const std::string& job, const std::string& state, const std::string& reason) {
    if (state == "PENDING" || state == "CONFIGURING" || state == "REQUEUED") {
        return list_error(
            0,
            fmt::format("Slurm's job {} has no nodes yet: {}{}", printable(job), printable(state),
                        reason.empty() || reason == "None" ? "" : " (" + printable(reason) + ")"),
            fmt::format("`squeue --job {} --start` tells when it may begin", printable(job)));
    }
    return list_error(
        0, fmt::format("Slurm's job {} is over: {}", printable(job), printable(state)),
        "its nodes are no longer its own: take new ones with `salloc`, `sbatch` or `dockdist slurm submit`");
}

// The records that begin with such a line.
std::vector<ScontrolLines> records(ScontrolLines lines, std::string_view start) {
    std::vector<ScontrolLines> found;
    const auto begins = [&](const std::string& line) { return line.starts_with(start); };
    for (auto at = std::ranges::find_if(lines, begins); at != lines.end();) {
        const auto next = std::find_if(std::next(at), lines.end(), begins);
        found.emplace_back(at, next);
        at = next;
    }
    return found;
}

// The lines of the job, and those of each node. The id of an array is that of one of its tasks, too, and all
// of them are shown then.
std::pair<ScontrolLines, std::vector<ScontrolLines>> records_of(ScontrolLines lines) {
    auto nodes = records(lines, "NodeName=");
    const ScontrolLines before(lines.begin(), nodes.empty() ? lines.end() : nodes.front().begin());
    const auto jobs = records(before, "JobId=");
    const auto own = std::ranges::find_if(jobs, [](ScontrolLines job) {
        return scontrol_value(job, "JobId=") == scontrol_value(job, "JobId=", "ArrayJobId=");
    });
    const auto job = own != jobs.end() ? *own : jobs.empty() ? ScontrolLines() : jobs.front();
    return {job, std::move(nodes)};
}

Result<std::string> node_list_of(ScontrolLines job) {
    const auto id = scontrol_value(job, "JobId=");
    if (!whole_number<std::uint32_t>(id)) {
        return list_error(0, "Slurm reported no job",
                          "`scontrol show job --details ID` is what dockdist ran");
    }
    if (!scontrol_value(job, "JobId=", "HetJobId=").empty()) {
        return list_error(
            0, fmt::format("Slurm's job {} is heterogeneous: it has several components", printable(id)),
            "dockdist supports allocations of one component: ask for all nodes in one "
            "(`--nodes`, `--constraint`)");
    }
    const auto state = scontrol_value(job, "JobState=");
    auto nodes = scontrol_value(job, "NodeList=");
    const bool there =
        state == "RUNNING" || state == "SUSPENDED" || state == "STOPPED"; // COMPLETING: not all
    if (!there || nodes.empty() || nodes == nothing) {
        return no_nodes(id, state, scontrol_value(job, "JobState=", "Reason="));
    }
    return nodes;
}

} // namespace

Result<std::string> nodes_of_allocation(std::string_view job) {
    return node_list_of(split(job, '\n'));
}

Result<Inventory> parse_allocation(std::string_view text) {
    const auto lines = split(text, '\n');
    const auto [job, records] = records_of(lines);
    const auto list = node_list_of(job);
    TRY(list);
    const auto names = read_host_list(*list);
    TRY(names);
    const auto given = gpus_by_node(job);
    TRY(given);
    std::map<std::string, ScontrolLines> by_name;
    for (const auto& record : records) {
        by_name.emplace(scontrol_value(record, "NodeName="), record);
    }
    const int tasks = tasks_a_node(job, names->size());
    Inventory inventory{.slurm_job = scontrol_value(job, "JobId=")};
    std::set<std::string> known;
    for (const auto& name : *names) {
        if (!known.insert(name).second) {
            continue;
        }
        const auto found = by_name.find(name);
        if (found == by_name.end()) {
            return list_error(0, fmt::format("Slurm says nothing about its node {}", printable(name)),
                              fmt::format("`scontrol show node {}`", printable(name)));
        }
        ListedHost host{.name = name};
        if (const auto hostname = scontrol_value(found->second, "NodeAddr=", "NodeHostName=");
            !hostname.empty() && hostname != name) {
            host.address = hostname;
        }
        if (const auto address = scontrol_value(found->second, "NodeAddr=");
            !address.empty() && address != name && address != host.address) {
            host.peers = address;
        }
        const auto configured = resources_of(scontrol_value(found->second, "Gres="));
        const auto own = given->find(name);
        if (std::ranges::any_of(configured, is_gpu)) { // else Slurm leaves them to whoever is there
            host.gpus = own == given->end() ? GpuSpec{.kind = GpuSpec::Kind::none} : own->second;
        }
        const bool no_gpus = host.gpus && host.gpus->kind == GpuSpec::Kind::none;
        if (no_gpus || (!host.gpus && tasks > 1)) {
            host.slots = tasks;
        }
        inventory.hosts.push_back(std::move(host));
    }
    return inventory;
}

} // namespace dockdist
