#include "node/boot/join.hpp"

#include "core/text.hpp"
#include "node/boot/init_channel.hpp"
#include "node/boot/node_prepare.hpp"
#include "node/boot/node_state.hpp"
#include "node/boot/wait_for_peers.hpp"
#include "node/gpus/gpu_look.hpp"
#include "node/system/gpus.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "wire/join.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

Result<std::string> read_line() {
    std::string line;
    char buffer[65536];
    while (line.size() <= wire::max_line) {
        const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return Error{.kind = ErrorKind::interrupted,
                         .message = "the client went before it sent the list of members"};
        }
        line.append(buffer, static_cast<std::size_t>(count));
        if (line.ends_with('\n')) {
            return line;
        }
    }
    return Error{.kind = ErrorKind::protocol, .message = "the list of members is longer than 4 MiB"};
}

Result<Endpoint> find_endpoint(const wire::JoinRequest& request) {
    auto address = request.address;
    if (!address.empty() && address.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) {
        auto resolved = resolve_in_hosts(read_file_or_empty(paths().hosts), address);
        if (resolved.empty() || resolved.starts_with("127.")) {
            return Error{.kind = ErrorKind::config,
                         .message =
                             "the address " + printable(address) + " is a name that this node cannot resolve",
                         .hint = "set the host's `address` to a numeric one"};
        }
        address = std::move(resolved);
    }
    return choose_endpoint(address, request.interface, default_address(), interface_addresses());
}

// The port is claimed from PID 1 first, then tried: two nodes of one host never try the same one.
Result<int> find_port(const wire::JoinRequest& request, const std::string& address) {
    const auto status = ask_init({{"do", "status"}});
    if (!status) {
        return status.error();
    }
    const int held = status->value("ssh_port", 0);
    const bool sshd_runs = status->value("sshd", 0) > 0;
    if (held != 0 && (request.ssh_port == 0 || request.ssh_port == held) && sshd_runs) {
        return held; // this node's own sshd listens there
    }
    return choose_port(request.ssh_port, [&](int port) -> Status {
        if (const auto claimed = ask_init({{"do", "reserve"}, {"port", port}}); !claimed) {
            return claimed.error();
        }
        auto free = check_port_free(address, port);
        if (!free) {
            (void)ask_init({{"do", "release"}});
        }
        return free;
    });
}

Result<wire::NodeRecord> make_record(const wire::JoinRequest& request, const Account& account) {
    wire::NodeRecord record{.node = request.node, .rank = request.rank, .user = account.name};
    const auto endpoint = find_endpoint(request);
    if (!endpoint) {
        return endpoint.error();
    }
    record.address = endpoint->address;
    record.interface = endpoint->interface;
    const auto port = find_port(request, record.address);
    if (!port) {
        return port.error();
    }
    record.ssh_port = *port;
    char hostname[256] = "";
    (void)::gethostname(hostname, sizeof hostname - 1);
    record.hostname = hostname;
    KnownGpus known{.cluster = request.cluster, .node = request.node};
    if (const auto seen = look_at_gpus()) {
        known.units = units_of(*seen);
        known.topology = known.units.size() > 1 ? look_at_topology() : std::string();
    }
    record.gpus = known.units.empty() ? count_gpus() : static_cast<int>(known.units.size());
    record.slots = request.slots > 0 ? request.slots : std::max(record.gpus, 1);
    known.slots = record.slots;
    if (auto saved = save_known_gpus(known); !saved) {
        return saved.error();
    }
    const auto keys = make_keys(account);
    if (!keys) {
        return keys.error();
    }
    record.user_key = keys->user;
    record.host_key = keys->host;
    record.clock_ms = unix_ms();
    return record;
}

Status check_own_place(const wire::NodeRecord& self, const wire::Members& members) {
    const auto found = std::ranges::find(members.nodes, self.node, &wire::NodeRecord::node);
    if (found == members.nodes.end() || found->host_key != self.host_key || found->address != self.address ||
        found->ssh_port != self.ssh_port) {
        return Error{.kind = ErrorKind::protocol,
                     .message = "the list of members does not hold this node's own record",
                     .hint = "run `dockdist up` again"};
    }
    return ok;
}

Status start_sshd() {
    const auto checked =
        run_helper(paths().sshd, {paths().sshd, "-t", "-f", paths().sshd_config}, clean_environment(), 10000);
    if (checked.code != 0) {
        return Error{
            .kind = ErrorKind::node,
            .message = "sshd refuses its configuration: " + printable(checked.output),
            .hint =
                "this is a fault of dockdist or of the image's accounts; please report it with this message"};
    }
    if (const auto started = ask_init({{"do", "sshd"}}); !started) {
        return started.error();
    }
    return ok;
}

// An error when the node's own sshd does not come up says why in sshd's words.
Status wait_for_all_peers(const wire::NodeRecord& self, const wire::Members& members,
                          std::int64_t timeout_ms) {
    const auto deadline = monotonic_ms() + timeout_ms;
    if (auto own = wait_for_peers({self}, self, std::min<std::int64_t>(timeout_ms, 20000)); !own) {
        const auto status = ask_init({{"do", "status"}});
        return Error{.kind = ErrorKind::node,
                     .message = "sshd of " + self.node + " does not come up on " + self.address + ":" +
                                std::to_string(self.ssh_port) + ": " +
                                printable(status ? status->value("log", "") : status.error().message),
                     .hint = own.error().hint};
    }
    return wait_for_peers(members.nodes, self, std::max<std::int64_t>(deadline - monotonic_ms(), 1000));
}

Status join(const std::string& text) {
    const auto request = wire::parse_join_request(text);
    if (!request) {
        return request.error();
    }
    if (!is_plain_name(request->node)) {
        return Error{.kind = ErrorKind::protocol,
                     .message = "the node's name is none: " + printable(request->node)};
    }
    const UserMounts mounts(request->mounts);
    if (auto prepared = prepare_places(mounts); !prepared) {
        return prepared;
    }
    auto account = prepare_account(request->user, mounts);
    if (!account) {
        return account.error();
    }
    const auto self = make_record(*request, *account);
    if (!self) {
        return self.error();
    }
    if (auto sent = write_all(STDOUT_FILENO, wire::hello_line(*self)); !sent) {
        return sent;
    }
    const auto line = read_line();
    if (!line) {
        return line.error();
    }
    const auto members = wire::parse_members(*line);
    if (!members) {
        return members.error();
    }
    for (const auto& step :
         {check_own_place(*self, *members), write_state(*self, *members, *account, mounts)}) {
        if (!step) {
            return step;
        }
    }
    if (auto started = start_sshd(); !started) {
        return started;
    }
    if (auto met = wait_for_all_peers(*self, *members, request->ready_timeout_ms); !met) {
        return met;
    }
    const auto ready = wire::ready_record_line(*self, wire::members_hash(*members));
    if (const auto told = ask_init({{"do", "ready"}, {"line", ready}}); !told) {
        return told.error();
    }
    return write_all(STDOUT_FILENO, wire::ready_line());
}

} // namespace

int run_join(const std::string& request) {
    ::umask(077);
    if (const auto joined = join(request); !joined) {
        (void)write_all(STDOUT_FILENO, wire::error_line(joined.error()));
        return 1;
    }
    return 0;
}

} // namespace dockdist::node
