#include "node/system/port_holder.hpp"

#include "core/text.hpp"
#include "node/system/as_owner.hpp"
#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "node/system/process_stat.hpp"
#include "wire/job.hpp"

#include <cstdio>
#include <set>
#include <vector>

namespace dockdist::node {
namespace {

// proc(5), /proc/net/tcp: state 0A is a listening one; the tenth field is the socket's inode.
std::set<std::string> listening_sockets(int port) {
    char wanted[8];
    std::snprintf(wanted, sizeof wanted, ":%04X", static_cast<unsigned>(port));
    std::set<std::string> sockets;
    for (const auto* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        for (const auto& line : split(read_file_or_empty(table), '\n')) {
            std::vector<std::string> fields;
            for (auto& word : split(line, ' ')) {
                if (!word.empty()) {
                    fields.push_back(std::move(word));
                }
            }
            if (fields.size() > 9 && fields[1].ends_with(wanted) && fields[3] == "0A") {
                sockets.insert("socket:[" + fields[9] + "]");
            }
        }
    }
    return sockets;
}

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
    const auto sockets = listening_sockets(port);
    if (sockets.empty()) {
        return std::nullopt;
    }
    for (const auto& process : all_processes()) {
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
