// What a node answered to the question `facts` (node/check/facts.hpp), as values. Each part is a value or an
// error of its own: a hanging driver leaves the rest known.
#pragma once

#include "check/peers.hpp"
#include "core/names.hpp"
#include "core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// Of a process that came over ssh; bytes or counts, -1: unlimited.
struct SessionLimits {
    std::int64_t memlock = 0, nofile = 0, stack = 0, nproc = 0;
};

struct Room {
    Bytes free{}, size{};
};

struct RdmaPort {
    std::string device{};
    int port = 0;
    std::string state{}; // "ACTIVE"
    std::string rate{};  // "400 Gb/sec (4X NDR)"
    std::string link{};  // "InfiniBand", "Ethernet"
};

struct XidError {
    std::string gpu{}; // its PCI address
    int code = 0;
};

struct SystemFacts {
    std::optional<Room> disk{}, shm{};
    std::map<std::string, int> governors{}; // CPUs of each
    std::vector<RdmaPort> rdma{};
    bool rdma_inside = false;
    std::optional<std::vector<XidError>> xids{}; // empty: the kernel's log may not be read
    std::vector<std::string> jobs{};
};

struct NetworkFacts {
    std::string interface{};
    bool there = false, up = false, loopback = false, bridge = false, address_there = false;
    int mtu = 0;
};

struct NameFacts {
    std::string by{}; // "getent", "python", "hosts"
    std::string hostname{};
    std::map<std::string, std::vector<std::string>> addresses{};
};

struct ProgramOutput {
    int code = 0; // -1: no end in time; 126, 127: not started
    std::string output{};
};

struct MountFacts {
    bool folder = false, written = false;
    std::string why{};     // not written
    std::string listing{}; // where not written: equal for equal names
};

struct NodeFacts {
    NodeName node{};
    HostName host{};
    Result<SessionLimits> limits{SessionLimits{}};
    Result<SystemFacts> system{SystemFacts{}};
    Result<NetworkFacts> network{NetworkFacts{}};
    Result<NameFacts> names{NameFacts{}};
    Result<std::vector<PeerAnswer>> logins{std::vector<PeerAnswer>{}};
    std::string nccl{}; // version of the image's library; empty: none
    std::map<std::string, Result<ProgramOutput>> programs{};
    std::map<std::string, Result<MountFacts>> mounts{};            // by folder
    std::map<std::string, std::vector<std::string>> seen_tokens{}; // by folder: whose (the question `look`)
};

// Never an error as a whole: a part that is missing or of another shape is a protocol error of that part.
NodeFacts parse_facts(const nlohmann::json& answer);
std::map<std::string, std::vector<std::string>> parse_seen(const nlohmann::json& answer);

} // namespace dockdist
