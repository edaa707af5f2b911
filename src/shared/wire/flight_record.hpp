// What torch's flight recorder says of a rank: for each of its process groups how far it has come, and the
// first of what it has launched there that is not done. Part of wire::RankStack.
#pragma once

#include "shared/wire/stack_frame.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t most_flight_groups = 128;  // of a rank
inline constexpr std::size_t most_flight_ranks = 16384; // of a group
inline constexpr std::int64_t no_collective = -1;

// What was launched and is not done.
struct FlightEntry {
    std::int64_t record = 0;   // the rank's own count, over all groups
    std::int64_t sequence = 0; // of the group's collectives; where it is `p2p`, of its sends and receives
    bool p2p = false;
    std::string name{};        // "nccl:all_reduce", "nccl:send 0->1": ranks of the group
    std::string state{};       // scheduled, started
    std::string sizes{};       // "[[1024, 512]] Float -> [[1024]] Float"
    std::int64_t elements = 0; // of its inputs together
    std::int64_t waits_ms = 0; // from its launch to the dump
    StackFrame frame{};        // of the user's own code; no file: not told
    bool operator==(const FlightEntry&) const = default;
};

struct FlightGroup {
    std::string name{};        // the same on all of its ranks
    std::string description{}; // "TENSOR_MODEL_PARALLEL_GROUP"
    std::vector<int> ranks{};  // the job's numbers; of groups with an entry alone
    std::int64_t enqueued = no_collective, completed = no_collective; // the last ones
    bool waits = false;                                               // `first` is one
    FlightEntry first{};
    bool operator==(const FlightGroup&) const = default;
};

struct FlightRecord {
    std::string problem{}; // why there is none; empty with a version: there is one
    bool silent = false;   // it listens for who asks, and did not write its dump
    std::string version{};
    std::vector<FlightGroup> groups{};
    bool operator==(const FlightRecord&) const = default;
};

nlohmann::json flight_object(const FlightRecord& record);
void read_flight(ObjectReader& reader, FlightRecord& record);

} // namespace dockdist::wire
