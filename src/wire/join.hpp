// The key exchange. `dockdist-init join JSON` runs as root in each node through an exec; JSON is a
// JoinRequest.
//
//   node → client   {"type":"hello", …}    NodeRecord: what this node is, its public keys
//   client → node   {"type":"members", …}  every node's record, in rank order
//   node → client   {"type":"ready"}       sshd runs, every peer's sshd answered
//   or at any time  {"type":"error","kind":…,"message":…,"hint":…}, and the exec ends with 1
//
// One JSON object a line, '\n' at the end, at most 4 MiB. Private keys never appear. PID 1 prints the node's
// own record as one line `{"type":"ready",…NodeRecord…,"members_hash":…}` to the container's log once it is
// ready, so that a client can read it back without an exec; any later line there without that type means that
// it is not ready any more.
#pragma once

#include "core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr int version =
    1; // of this protocol; both sides must agree exactly (the toolkit travels with the client)

struct JoinRequest {
    std::string cluster{};
    std::string node{};
    int rank = 0;
    std::string address{};   // numeric IP or a name that peers use; empty: the address of the default route
    std::string interface{}; // empty: the one that holds the address
    int ssh_port = 0;        // 0: the first free one from 2222
    int slots = 0;           // 0: count the GPUs inside, else 1
    std::string user{};      // container.user: "", "name", "uid", "uid:gid"; empty: root
    std::vector<std::string> mounts{}; // targets of container.mounts: what is there is the host's
    int ready_timeout_ms = 60000;      // how long to try to meet the peers
};

// What a node tells about itself. Everything here is public.
struct NodeRecord {
    std::string node{};
    int rank = 0;
    std::string address{}; // numeric
    std::string interface{};
    std::string hostname{}; // of its machine, as gethostname tells it inside
    int ssh_port = 0;
    int slots = 1;
    int gpus = 0;
    std::string user{};     // the account that peers log in as: a name in the node's own /etc/passwd
    std::string user_key{}; // "ssh-ed25519 AAAA…", without comment
    std::string host_key{};
    std::int64_t clock_ms = 0; // Unix time in milliseconds, when the record was made
    bool operator==(const NodeRecord&) const = default;
};

struct Members {
    std::string cluster{};
    std::vector<NodeRecord> nodes{}; // in rank order
};

// A hash of everything in `members` that a node's files depend on (not clock_ms). Hex, 64 bits of SHA-256 or
// FNV: it guards against staleness, not against an attacker.
std::string members_hash(const Members& members);

void to_json(nlohmann::json& json, const JoinRequest& request);
void to_json(nlohmann::json& json, const NodeRecord& record);
void to_json(nlohmann::json& json, const Members& members);

Result<JoinRequest> parse_join_request(std::string_view text);
Result<Members> parse_members(std::string_view line);

// One line of the node's side.
struct JoinMessage {
    enum class Type { hello, ready, error, other };
    Type type = Type::other;
    NodeRecord record{};        // hello, and the ready line of the container's log
    std::string members_hash{}; // the ready line of the container's log
    Error error{};              // error
};
Result<JoinMessage> parse_join_message(std::string_view line);

std::string hello_line(const NodeRecord& record);
std::string members_line(const Members& members);
std::string ready_line();
std::string error_line(const Error& error);
std::string ready_record_line(const NodeRecord& record, const std::string& members_hash);

} // namespace dockdist::wire
