#include "node/system/port_holder.hpp"

#include "node/system/as_owner.hpp"
#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "node/system/process_stat.hpp"
#include "shared/core/listening_sockets.hpp"
#include "shared/wire/job.hpp"

#include <set>

namespace dockdist::node {
namespace {

constexpr std::int64_t longest_search_ms = 500; // who looks has other things to do

bool has_one_of(pid_t pid, const std::set<std::string>& sockets) {
    const AsOwner owner(pid);
    const auto folder = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& fd : list_folder(folder)) {
        if (sockets.contains(read_link(folder + "/" + fd))) {
            return true;
        }
    }
    return false;
}

} // namespace

std::optional<PortHolder> find_port_holder(int port) {
    auto sockets = listening_sockets(read_file_or_empty("/proc/net/tcp"), port);
    sockets.merge(listening_sockets(read_file_or_empty("/proc/net/tcp6"), port));
    if (sockets.empty()) {
        return std::nullopt;
    }
    const auto deadline = monotonic_ms() + longest_search_ms;
    for (const auto& process : all_processes()) {
        if (monotonic_ms() > deadline) {
            break;
        }
        if (has_one_of(process.pid, sockets)) {
            const auto name = read_file_or_empty("/proc/" + std::to_string(process.pid) + "/comm");
            const auto environment = read_process_environ(process.pid);
            return PortHolder{.pid = process.pid,
                              .program = name.substr(0, name.find('\n')),
                              .job = variable_in(environment, wire::job_mark),
                              .rank = variable_in(environment, "RANK")};
        }
    }
    return PortHolder{};
}

} // namespace dockdist::node
