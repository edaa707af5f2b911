#include "node/boot/join.hpp"

#include "node/boot/hand_on.hpp"
#include "node/boot/init_channel.hpp"
#include "node/boot/join_stream.hpp"
#include "node/boot/members_arrival.hpp"
#include "node/boot/node_files.hpp"
#include "node/boot/node_prepare.hpp"
#include "node/boot/node_state.hpp"
#include "node/boot/store_keeper.hpp"
#include "node/boot/wait_for_peers.hpp"
#include "node/gpus/gpu_look.hpp"
#include "node/system/environment.hpp"
#include "node/system/gpus.hpp"
#include "node/system/helper.hpp"
#include "node/system/nccl_library.hpp"
#include "node/system/network.hpp"
#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/rdma_ports.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/text.hpp"
#include "shared/rdma/variables.hpp"
#include "shared/wire/handed_on.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/partners.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t own_sshd_usual_ms = 2000;
constexpr std::int64_t own_sshd_limit_ms = 18000;

Result<Endpoint> find_endpoint(const wire::JoinRequest& request) {
    auto address = request.address;
    if (!address.empty() && !is_ip_address(address)) {
        auto resolved = resolve_in_hosts(read_file_or_empty(paths().hosts), address);
        if (resolved.starts_with("127.")) {
            resolved.clear();
        }
        if (resolved.empty() && (!request.derived || request.interface.empty())) {
            return Error{.kind = ErrorKind::config,
                         .message =
                             "the address " + printable(address) + " is a name that this node cannot resolve",
                         .hint = "set the host's `address` to a numeric one"};
        }
        address = std::move(resolved);
    }
    return choose_endpoint({.address = std::move(address),
                            .derived = request.derived,
                            .interface = request.interface,
                            .subnets = request.subnets,
                            .default_address = default_address()},
                           interface_addresses());
}

Result<int> find_port(const wire::JoinRequest& request, const std::string& address) {
    const auto status = ask_init({{"do", "status"}});
    TRY(status);
    const auto reserve = [&](int port) {
        return ask_init({{"do", "reserve"}, {"address", address}, {"port", port}});
    };
    // This node's own, at this address or at the one that it had until now.
    const int held = status->value("ssh_port", 0);
    if (held != 0 && (request.ssh_port == 0 || request.ssh_port == held) && reserve(held)) {
        return held;
    }
    auto port = choose_port(request.ssh_port, [&](int candidate) -> Status {
        const auto reserved = reserve(candidate);
        return reserved ? Status(ok) : reserved.error();
    });
    if (port || port.error().kind != ErrorKind::conflict) {
        return port;
    }
    return request.ssh_port != 0
               ? port_in_use(address, request.ssh_port)
               : Error{.kind = ErrorKind::conflict,
                       .message = "none of the ports " + std::to_string(first_ssh_port) + " to " +
                                  std::to_string(last_ssh_port) + " of " + address + " is free",
                       .hint = "set ssh.port to one that is"};
}

// What sshd needs to run: the rest of the record may take longer.
Result<wire::NodeRecord> begin_record(const wire::JoinRequest& request, const Account& account) {
    wire::NodeRecord record{
        .node = request.node, .rank = request.rank, .asked = request.asked, .user = account.name};
    const auto endpoint = find_endpoint(request);
    TRY(endpoint);
    record.address = endpoint->address;
    record.interface = endpoint->interface;
    const auto port = find_port(request, record.address);
    TRY(port);
    record.ssh_port = *port;
    const auto key = make_host_key();
    TRY(key);
    record.host_key = *key;
    return record;
}

wire::RdmaRecord find_rdma(const std::string& use, int nodes) {
    wire::RdmaRecord rdma{.use = use, .ports = rdma_ports_of_host()};
    if (rdma.ports.empty() && use == "auto") {
        return rdma;
    }
    if (!rdma.ports.empty()) {
        rdma.inside = has_rdma_devices();
        rdma.nccl = oldest_nccl(recorded_environment());
    }
    const auto given = Environment::from_block(read_file_or_empty(paths().container_environment));
    const auto note = [&](const char* name) {
        if (given.get(name)) {
            rdma.yours.emplace_back(name);
        }
    };
    std::ranges::for_each(rdma::names_by_node, note);
    std::ranges::for_each(rdma::names_for_all, note);
    note(rdma::port_choices.back().ports);
    wire::shorten(rdma, wire::room_for_rdma(static_cast<std::size_t>(nodes)));
    return rdma;
}

Status end_record(const wire::JoinRequest& request, const Account& account, wire::NodeRecord& record) {
    char hostname[256] = "";
    (void)::gethostname(hostname, sizeof hostname - 1);
    record.hostname = hostname;
    record.host = host_mark();
    const auto key = make_user_key(account);
    TRY(key);
    record.user_key = *key;
    KnownGpus known{.cluster = request.cluster, .node = request.node};
    if (const auto seen = look_at_gpus()) {
        known.units = units_of(*seen);
        known.topology = known.units.size() > 1 ? look_at_topology() : std::string();
    }
    record.gpus = known.units.empty() ? count_gpus() : static_cast<int>(known.units.size());
    record.slots = request.slots > 0 ? request.slots : std::max(record.gpus, 1);
    known.slots = record.slots;
    record.rdma = find_rdma(request.rdma, request.nodes);
    record.settings = request.settings;
    record.clock_ms = unix_ms();
    return save_known_gpus(known);
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

Status start_sshd(const wire::JoinRequest& request, const wire::NodeRecord& self) {
    const auto config = sshd_config(self, request.nodes, request.nodes_beside);
    if (auto written = replace_file(paths().sshd_config, config, 0644); !written) {
        return written;
    }
    if (const auto started = ask_init({{"do", "sshd"}}); !started) {
        return started.error();
    }
    return ok;
}

// An error says why in sshd's words.
Status wait_for_own_sshd(const wire::NodeRecord& self) {
    if (!wait_for_peers({self}, self, own_sshd_usual_ms)) {
        return ok;
    }
    const auto checked =
        run_helper(toolkit_helper(paths().sshd, {paths().sshd, "-t", "-f", paths().sshd_config}), 10000);
    if (checked.code != 0) {
        return Error{
            .kind = ErrorKind::node,
            .message = "sshd refuses its configuration: " + printable(checked.output),
            .hint =
                "this is a fault of dockdist or of the image's accounts; please report it with this message"};
    }
    if (const auto unmet = wait_for_peers({self}, self, own_sshd_limit_ms)) {
        const auto status = ask_init({{"do", "status"}});
        return Error{.kind = ErrorKind::node,
                     .message = "sshd of " + self.node + " does not come up on " + self.address + ":" +
                                std::to_string(self.ssh_port) + ": " +
                                printable(status ? status->value("log", "") : status.error().message),
                     .hint = unmet->error.hint};
    }
    return ok;
}

// The process that hands the list on while this one goes on; it ends with this one.
class HandingOn {
public:
    HandingOn(const std::vector<wire::NodeRecord>& receivers, const wire::NodeRecord& self,
              std::int64_t timeout_ms) {
        const pid_t parent = ::getpid();
        child_ = receivers.empty() ? 0 : ::fork();
        if (child_ == 0 && ::getpid() != parent) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            // What a stranger says who has taken a neighbour's name may hold it up for ever.
            ::alarm(static_cast<unsigned>(timeout_ms / 1000 + 1));
            if (::getppid() == parent) {
                hand_on(receivers, self, timeout_ms);
            }
            ::_exit(0);
        }
    }
    void wait() const {
        while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

private:
    pid_t child_ = 0; // below 0: it did not start, and the receivers ask the client
};

class NodeJoin {
public:
    NodeJoin(JoinStream& client, bool in_log) : client_(client), in_log_(in_log) {}

    Status run(const std::string& text) {
        const auto request = wire::parse_join_request(text);
        TRY(request);
        if (!is_plain_name(request->node)) {
            return Error{.kind = ErrorKind::protocol,
                         .message = "the node's name is invalid: " + printable(request->node)};
        }
        const UserMounts mounts(request->mounts);
        if (auto prepared = prepare_places(mounts); !prepared) {
            return prepared;
        }
        const auto account = prepare_account(request->user, mounts);
        TRY(account);
        auto self = begin_record(*request, *account);
        TRY(self);
        auto door = MembersDoor::open({account->uid, account->gid}, self->address, self->ssh_port);
        TRY(door);
        if (auto started = start_sshd(*request, *self); !started) {
            return started;
        }
        if (auto whole = end_record(*request, *account, *self); !whole) {
            return whole;
        }
        if (auto store = await_store(); !store) {
            return store;
        }
        if (auto sent = client_.write(wire::hello_line(*self)); !sent) {
            return sent;
        }
        if (auto up = wait_for_own_sshd(*self); !up) {
            return up;
        }
        return meet(*request, *self, *account, mounts, std::move(*door));
    }

    const std::vector<wire::Unreached>& unreached() const { return unreached_; }

private:
    Status meet(const wire::JoinRequest& request, const wire::NodeRecord& self, const Account& account,
                const UserMounts& mounts, MembersDoor door) {
        const auto line = client_.next_line();
        TRY(line);
        const auto deadline = monotonic_ms() + request.ready_timeout_ms;
        const auto notice = wire::parse_members_notice(*line);
        TRY(notice);
        if (auto taken = take_settings(notice->settings); !taken) {
            return taken;
        }
        if (notice->giver) {
            if (auto let = let_giver_in(request.cluster, *notice->giver); !let) {
                return let;
            }
        }
        const auto list = await_members(client_, *notice, std::move(door));
        TRY(list);
        const auto members = wire::parse_members(*list);
        TRY(members);
        if (auto there = check_own_place(self, *members); !there) {
            return there;
        }
        if (auto written = write_state(self, *members, *list, account, mounts); !written) {
            return written;
        }
        const auto left_ms = [&] { return std::max<std::int64_t>(deadline - monotonic_ms(), 1000); };
        const HandingOn hands(receivers(self, *members, *notice), self, left_ms());
        if (auto unmet = wait_for_peers(partners(self, *members), self, left_ms())) {
            unreached_ = std::move(unmet->peers);
            return unmet->error;
        }
        const auto ready = wire::ready_record_line(self, wire::members_hash(*members));
        if (const auto told = ask_init({{"do", "ready"}, {"line", ready}}); !told) {
            return told.error();
        }
        auto said = in_log_ ? Status(ok) : client_.write(wire::ready_line());
        hands.wait();
        return said;
    }

    static std::size_t place_of(const wire::NodeRecord& self, const wire::Members& members) {
        const auto found = std::ranges::find(members.nodes, self.node, &wire::NodeRecord::node);
        return static_cast<std::size_t>(found - members.nodes.begin());
    }

    static std::vector<std::string> hosts_of(const wire::Members& members) {
        std::vector<std::string> hosts;
        std::ranges::transform(members.nodes, std::back_inserter(hosts), &wire::NodeRecord::address);
        return hosts;
    }

    static std::vector<wire::NodeRecord> records_at(const std::vector<std::size_t>& places,
                                                    const wire::Members& members) {
        std::vector<wire::NodeRecord> records;
        std::ranges::transform(places, std::back_inserter(records),
                               [&](std::size_t place) { return members.nodes[place]; });
        return records;
    }

    static std::vector<wire::NodeRecord> receivers(const wire::NodeRecord& self, const wire::Members& members,
                                                   const wire::MembersNotice& notice) {
        const wire::Hands hands(hosts_of(members), static_cast<std::size_t>(notice.first));
        return records_at(hands.receivers_of(place_of(self, members)), members);
    }

    static std::vector<wire::NodeRecord> partners(const wire::NodeRecord& self,
                                                  const wire::Members& members) {
        return records_at(wire::partners_of(place_of(self, members), hosts_of(members)), members);
    }

    JoinStream& client_;
    bool in_log_;
    std::vector<wire::Unreached> unreached_{};
};

} // namespace

int run_join(const std::string& request, int in, int out, bool in_log) {
    ::umask(077);
    JoinStream client(in, out);
    NodeJoin join(client, in_log);
    if (const auto joined = join.run(request); !joined) {
        // The log's last line is what the node is: that a client went must not stand behind what the next one
        // did.
        if (!in_log || joined.error().kind != ErrorKind::interrupted) {
            (void)client.write(wire::error_line(joined.error(), join.unreached()));
        }
        return 1;
    }
    return 0;
}

} // namespace dockdist::node
