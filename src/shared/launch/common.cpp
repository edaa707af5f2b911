#include "shared/launch/common.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <numeric>

namespace dockdist {
namespace {

bool is_python(const std::string& program) {
    return program.substr(program.rfind('/') + 1).starts_with("python");
}

} // namespace

int ranks_of(const LaunchRequest& request, const LaunchNode& node) {
    return request.ranks_per_node.value_or(node.slots);
}

std::map<std::string, std::string> common_env(const LaunchRequest& request, std::size_t node_rank) {
    return {
        {"MASTER_ADDR", request.nodes.front().address},
        {"MASTER_PORT", std::to_string(request.ports.front().number)},
        {"NODE_RANK", std::to_string(node_rank)},
        {"NNODES", std::to_string(request.nodes.size())},
    };
}

std::vector<NodeLaunch> ranks_on_every_node(const LaunchRequest& request) {
    std::vector<NodeLaunch> launches;
    int first_rank = 0;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        const auto& node = request.nodes[i];
        NodeLaunch launch{.node = node.name, .ranks = ranks_of(request, node), .first_rank = first_rank};
        launch.start.rank_command = as_python_command(request.command);
        launch.start.env = common_env(request, i);
        first_rank += launch.ranks;
        launches.push_back(std::move(launch));
    }
    return launches;
}

void spawn_ranks(std::vector<NodeLaunch>& launches) {
    const auto world = std::to_string(world_size(launches));
    for (auto& launch : launches) {
        launch.start.argv = {layout::init, "ranks", std::to_string(launch.ranks),
                             std::to_string(launch.first_rank), world};
        if (launch.start.leaves_servers) {
            launch.start.argv.emplace_back("leads");
        }
    }
}

std::vector<NodeLaunch> on_every_slot(const LaunchRequest& request) {
    auto launches = ranks_on_every_node(request);
    spawn_ranks(launches);
    return launches;
}

int world_size(const std::vector<NodeLaunch>& launches) {
    return std::accumulate(launches.begin(), launches.end(), 0,
                           [](int sum, const NodeLaunch& launch) { return sum + launch.ranks; });
}

void append_rank(std::vector<std::string>& argv, const std::vector<std::string>& options,
                 std::initializer_list<std::string> before) {
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), before.begin(), before.end());
    argv.insert(argv.end(), {layout::init, "rank"});
}

std::vector<std::string> as_python_command(const std::vector<std::string>& command) {
    std::vector<std::string> result;
    if (!command.empty() && (command.front().ends_with(".py") || command.front() == "-m")) {
        result = {"python", "-u"};
    }
    result.insert(result.end(), command.begin(), command.end());
    return result;
}

int behind_script(const std::vector<std::string>& command) {
    const auto size = static_cast<int>(command.size());
    if (command.empty() || !is_python(command.front())) {
        return -1;
    }
    int next = 1;
    for (; next < size; ++next) {
        const auto& word = command[static_cast<std::size_t>(next)];
        if (!word.starts_with('-')) {
            break;
        }
        if (word == "-m" || word == "-c" || word == "--") {
            ++next;
            break;
        }
        if (word == "-W" || word == "-X") {
            ++next;
        }
    }
    return std::min(next + 1, size);
}

std::string slots_hostfile(const std::vector<NodeLaunch>& launches) {
    std::string text;
    for (const auto& launch : launches) {
        text += launch.node.str() + " slots=" + std::to_string(launch.ranks) + "\n";
    }
    return text;
}

void start_from_first_node(std::vector<NodeLaunch>& launches, std::vector<std::string> argv) {
    launches.front().start.argv = std::move(argv);
    for (auto& launch : launches) {
        launch.start.rank_secrets = true;
    }
    for (std::size_t i = 1; i < launches.size(); ++i) {
        launches[i].hosts_remote_ranks = true;
    }
}

std::string interface_selector(const LaunchRequest& request) {
    const auto& first = request.nodes.front().interface;
    const bool same =
        std::ranges::all_of(request.nodes, [&](const LaunchNode& node) { return node.interface == first; });
    if (same) {
        return first;
    }
    std::string list;
    for (const auto& node : request.nodes) {
        if (is_ipv6(node)) {
            return {};
        }
        list += (list.empty() ? "" : ",") + node.address + "/32";
    }
    return list;
}

bool is_ipv6(const LaunchNode& node) {
    return node.address.find(':') != std::string::npos;
}

std::string list_of(std::span<const std::string_view> names) {
    std::string list;
    for (const auto name : names) {
        list += (list.empty() ? "" : ", ") + std::string(name);
    }
    return list;
}

std::string in_scratch(const LaunchRequest& request, std::string_view name) {
    return wire::job_scratch(request.job.str()) + "/" + std::string(name);
}

} // namespace dockdist
