// The key exchange. `dockdist-init join JSON` runs as root in each node, JSON being a JoinRequest: through an
// exec in a node that runs; for a new one PID 1 starts it when the request comes, as a line, to the
// container's own stdin, and what it says is the container's log, too. There the line that PID 1 prints,
// below, stands for the bare `ready`.
//
//   node → client   {"type":"hello", …}    NodeRecord: what this node is, its public keys; its sshd runs
//   client → node   {"type":"members", …}  MembersNotice: the list's digest, and who hands the list to this
//                                          node; where nobody does, the list is the next line
//   node → client   {"type":"want"}        the list did not come: the client sends it, as a line
//   node → client   {"type":"ready"}       the sshd of every partner (partners.hpp) answered
//   or at any time  {"type":"error","kind":…,"message":…,"hint":…,"unreached":[…]}, and the exec ends with 1
//
// The list is every node's record, in rank order (Members). The client sends it to the first hosts alone, and
// each hands it on to others by ssh (handed_on.hpp): sshd lets the giver in, whose key the notice brings, and
// the session hands what it is sent to the node's join, which takes what has the digest. Nodes of one host
// need no ssh for that: they share a network namespace, so also the names of abstract sockets.
//
// One JSON object a line, '\n' at the end, at most 4 MiB. Private keys never appear. PID 1 prints the node's
// own record as one line `{"type":"ready",…NodeRecord…,"members_hash":…}` to the container's log once it is
// ready, so that a client can read it back without an exec; any later line there without that type means that
// it is not ready any more.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/history.hpp"
#include "shared/wire/rdma.hpp"
#include "shared/wire/version.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr std::size_t longest_asked = 256;
inline constexpr std::size_t longest_settings = 16;

struct JoinRequest {
    std::string cluster{};
    std::string node{};
    int rank = 0;
    std::string address{};   // numeric IP or a name that peers use; empty: the address of the default route
    std::string interface{}; // empty: the one that holds the address
    std::vector<std::string> subnets{}; // "10.1.0.0/16": without an address, the one that is in one of them
    bool derived = false;               // the address is the engine's: an interface that lacks it decides
    std::string asked{};                // what the file says of the place, for NodeRecord::asked
    int ssh_port = 0;                   // 0: the first free one from 2222
    int slots = 0;                      // 0: count the GPUs inside, else 1
    std::string user{};                 // container.user: "", "name", "uid", "uid:gid"; empty: root
    std::vector<std::string> mounts{};  // targets of container.mounts: what is there is the host's
    std::string rdma = "auto";          // network.rdma: "auto", "required", "off"
    std::string settings{};             // of NodeSettings, for NodeRecord::settings
    int nodes = 1;                      // of the cluster
    int nodes_beside = 1;               // the most of them that share a host
    int ready_timeout_ms = 60000;       // how long to try to meet the peers, from the notice on
};

// What a node tells about itself. Everything here is public.
struct NodeRecord {
    std::string node{};
    int rank = 0;
    std::string address{}; // numeric
    std::string interface{};
    std::string asked{};    // JoinRequest::asked, as it was told: longest_asked bytes at most
    std::string hostname{}; // of its machine, as gethostname tells it inside
    std::string host{};     // the same for nodes that share a network namespace, and for no others; opaque
    int ssh_port = 0;
    int slots = 1;
    int gpus = 0;
    std::string user{};     // the account that peers log in as: a name in the node's own /etc/passwd
    std::string user_key{}; // "ssh-ed25519 AAAA…", without comment
    std::string host_key{};
    RdmaRecord rdma{};
    std::string settings{};    // JoinRequest::settings, as it was told: longest_settings bytes at most
    std::int64_t clock_ms = 0; // Unix time in milliseconds, when the record was made
    bool operator==(const NodeRecord&) const = default;
};

struct Members {
    std::string cluster{};
    std::vector<NodeRecord> nodes{}; // in rank order
};

// What jobs and sessions find, and what is kept of them. It comes with the notice, on stdin: a request may be
// words of a command line, which everybody on the host can read.
struct NodeSettings {
    std::map<std::string, std::string> env{}; // over what the container was created with
    std::vector<std::string> unset{};         // of that
    std::string workdir{};                    // empty: the folder in which the container was started
    HistoryLimits history{};
    bool operator==(const NodeSettings&) const = default;
};

struct MembersNotice {
    std::string sha256{};              // of the list, without its '\n'; hex
    int first = 1;                     // so many hosts get the list from the client, wire::Hands
    std::optional<NodeRecord> giver{}; // who hands it to this node; nothing: the client, with the next line
    int patience_ms = 5000;            // after so long the node asks the client for it
    NodeSettings settings{};
};

// A peer whose sshd did not answer.
struct Unreached {
    std::string node{};
    std::string cause{}; // of the last attempt
    bool operator==(const Unreached&) const = default;
};

// A hash of everything in `members` that a node's files depend on (not clock_ms). Hex, 64 bits of SHA-256 or
// FNV: it guards against staleness, not against an attacker.
std::string members_hash(const Members& members);

void to_json(nlohmann::json& json, const JoinRequest& request);
void to_json(nlohmann::json& json, const NodeRecord& record);
void to_json(nlohmann::json& json, const Members& members);

Result<JoinRequest> parse_join_request(std::string_view text);
Result<MembersNotice> parse_members_notice(std::string_view line);
Result<Members> parse_members(std::string_view list);

// One line of the node's side.
struct JoinMessage {
    enum class Type { hello, want, ready, error, other };
    Type type = Type::other;
    NodeRecord record{};                // hello, and the ready line of the container's log
    std::string members_hash{};         // the ready line of the container's log
    Error error{};                      // error
    std::vector<Unreached> unreached{}; // error
};
Result<JoinMessage> parse_join_message(std::string_view line);

std::string hello_line(const NodeRecord& record);
std::string members_notice_line(const MembersNotice& notice);
std::string members_list(const Members& members); // without '\n'
std::string want_line();
std::string ready_line();
std::string error_line(const Error& error, const std::vector<Unreached>& unreached = {});
std::string ready_record_line(const NodeRecord& record, const std::string& members_hash);

} // namespace dockdist::wire
