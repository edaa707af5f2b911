#include "launch/launcher.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace dockdist {
namespace {

constexpr std::array table{
    Launcher{"plain", "the command once on each node, with RANK, WORLD_SIZE and MASTER_ADDR set",
             launch_plain},
    Launcher{"torchrun", "torch.distributed ranks on every slot, static rendezvous, no ssh", launch_torchrun},
};

} // namespace

std::span<const Launcher> launchers() {
    return table;
}

Result<Launcher> find_launcher(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &Launcher::name);
    if (found != table.end()) {
        return *found;
    }
    std::vector<std::string_view> names;
    std::string list;
    for (const auto& launcher : table) {
        names.push_back(launcher.name);
        list += (list.empty() ? "" : ", ") + std::string(launcher.name);
    }
    const auto meant = nearest(name, names);
    return Error{ErrorKind::usage, "", "unknown launcher `" + printable(name) + "`",
                 meant.empty() ? "launchers: " + list : "did you mean `" + meant + "`?"};
}

std::map<std::string, std::string> common_env(const LaunchRequest& request, std::size_t node_rank) {
    std::map<std::string, std::string> env{
        {"MASTER_ADDR", request.nodes.front().address},
        {"MASTER_PORT", std::to_string(request.master_port.number)},
        {"NODE_RANK", std::to_string(node_rank)},
        {"NNODES", std::to_string(request.nodes.size())},
    };
    for (const auto& [name, value] : request.env) {
        env[name] = value;
    }
    return env;
}

std::vector<std::string> as_python_command(const std::vector<std::string>& command) {
    std::vector<std::string> result;
    if (!command.empty() && (command.front().ends_with(".py") || command.front() == "-m")) {
        result = {"python", "-u"};
    }
    result.insert(result.end(), command.begin(), command.end());
    return result;
}

} // namespace dockdist
