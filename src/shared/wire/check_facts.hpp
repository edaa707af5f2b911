// The question `facts`: everything that a quick check wants to know of one node, in one answer. Each part of
// the answer is a value or an error of its own: a hanging driver leaves the rest known.
#pragma once

#include "shared/core/names.hpp"
#include "shared/wire/check_mounts.hpp"
#include "shared/wire/question.hpp"
#include "shared/wire/rdma.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::wire {

// Soft limits of a process that came over ssh; bytes or counts, -1: unlimited. `dockdist-init limits` prints
// them as one such object.
struct SessionLimits {
    std::int64_t memlock = 0, nofile = 0, stack = 0, nproc = 0;
};
void to_json(nlohmann::json& json, const SessionLimits& limits);
void read_fields(ObjectReader& reader, SessionLimits& limits);

struct Room {
    Bytes free{}, size{};
};
void to_json(nlohmann::json& json, const Room& room);
void read_fields(ObjectReader& reader, Room& room);

struct XidError {
    std::string gpu{}; // its PCI address: "0000:3b:00"
    int code = 0;
    bool operator==(const XidError&) const = default;
};
void to_json(nlohmann::json& json, const XidError& xid);
void read_fields(ObjectReader& reader, XidError& xid);

struct SystemFacts {
    std::string machine{};      // as `uname -m` says it: "x86_64"; empty: a node of before does not say
    std::optional<Room> disk{}; // the container's own file system: where the engine keeps images
    std::optional<Room> shm{};  // /dev/shm
    std::map<std::string, int> governors{}; // CPUs of each; empty where the kernel does not say
    std::vector<RdmaPort> rdma{};
    bool rdma_inside = false;                    // /dev/infiniband is in the container
    std::optional<std::vector<XidError>> xids{}; // empty: the kernel's log may not be read
    std::vector<std::string> jobs{};             // that run there now
};
void to_json(nlohmann::json& json, const SystemFacts& system);
void read_fields(ObjectReader& reader, SystemFacts& system);

// The interface that the node's record names, as it is now.
struct NetworkFacts {
    std::string interface{};
    bool there = false; // the rest is told only where it is
    bool up = false;    // set up, and with a carrier
    bool loopback = false;
    bool bridge = false; // one of the kernel's that leads to no other machine, as docker0
    bool address_there = false;
    int mtu = 0;         // 0: not known
    bool tunnel = false; // from point to point, as a VPN's is
    // The interface's first address, where the node's is another: programs that are told the interface's name
    // alone take that.
    std::string first_address{};
    // What the node sends to its peers, by the interface that it leaves through: those beside its own.
    struct OtherWay {
        std::string interface{};
        std::string node{}; // the first of them
        int nodes = 0;
    };
    std::vector<OtherWay> other_ways{}; // most_other_ways at most
};
inline constexpr std::size_t most_other_ways = 8;
void to_json(nlohmann::json& json, const NetworkFacts& network);
void read_fields(ObjectReader& reader, NetworkFacts& network);

// What the node's own name, its peers' and the machine's resolve to inside it.
struct NameFacts {
    std::string by{}; // "getent", "python", "hosts": /etc/hosts alone
    std::string hostname{};
    std::map<std::string, std::vector<std::string>> addresses{};
};
void to_json(nlohmann::json& json, const NameFacts& names);
void read_fields(ObjectReader& reader, NameFacts& names);

// The NCCL library that programs of the image load, where it is not one of Python's packages.
struct NcclLibrary {
    std::string version{}; // empty: there is none
    std::string path{};
};
void to_json(nlohmann::json& json, const NcclLibrary& nccl);
void read_fields(ObjectReader& reader, NcclLibrary& nccl);

// One login to another node.
struct PeerLogin {
    std::string peer{};
    bool ok = false;
    int ms = 0;
    std::string message{}; // why not
};
void to_json(nlohmann::json& json, const PeerLogin& login);
void read_fields(ObjectReader& reader, PeerLogin& login);

struct ProgramOutput {
    int code = 0; // -1: no end in time; 126, 127: not started
    std::string output{};
};
void to_json(nlohmann::json& json, const ProgramOutput& program);
void read_fields(ObjectReader& reader, ProgramOutput& program);

struct NodeFacts {
    NodeFacts() = default; // no aggregate: an Error would make one, as its first part

    Result<SessionLimits> limits{SessionLimits{}};
    Result<SystemFacts> system{SystemFacts{}};
    Result<NetworkFacts> network{NetworkFacts{}};
    Result<NameFacts> names{NameFacts{}};
    Result<NcclLibrary> nccl{NcclLibrary{}};
    Result<std::vector<PeerLogin>> logins{std::vector<PeerLogin>{}}; // a peer that hung is missing
    std::map<std::string, Result<ProgramOutput>> programs{};
    std::map<std::string, Result<MountFacts>> mounts{}; // by folder
};
void to_json(nlohmann::json& json, const NodeFacts& facts);
// A part that is missing or of another shape is a protocol error of that part.
void read_fields(ObjectReader& reader, NodeFacts& facts);

struct FactsQuestion {
    static constexpr const char* ask = "facts";
    using Answer = NodeFacts;
    std::vector<std::string> names{};  // the nodes to look up, without this one
    std::vector<std::string> peers{};  // those to log in to
    std::vector<Question> programs{};  // run as a job's process, for at most 12 s
    std::vector<std::string> mounts{}; // folders to leave a token in
    std::string token{};               // where there are mounts
};
void to_json(nlohmann::json& json, const FactsQuestion& question);
void read_fields(ObjectReader& reader, FactsQuestion& question);

// Further logins, of which an answer takes 15 s at most.
struct LogInsQuestion {
    static constexpr const char* ask = "logins";
    struct Answer {
        std::vector<PeerLogin> logins{}; // a peer that hung is missing
    };
    std::vector<std::string> peers{};
};
void to_json(nlohmann::json& json, const LogInsQuestion& question);
void read_fields(ObjectReader& reader, LogInsQuestion& question);
void to_json(nlohmann::json& json, const LogInsQuestion::Answer& answer);
void read_fields(ObjectReader& reader, LogInsQuestion::Answer& answer);

} // namespace dockdist::wire
