// What a node has heard from NCCL's RAS of the job's communicators: who in one is not where the others are.
//   In the last line of `dockdist-init job stacks JOB` (shared/wire/stacks.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t most_ras_ranks = 64; // of which something is to be said

// A rank of one communicator.
struct RasRank {
    enum class Kind {
        behind,       // it has launched `count`, most of its communicator `most`, and none moved meanwhile
        gone,         // its process answers, and no longer has this communicator
        unresponsive, // its process does not answer
        dead,         // … and has not for a minute
        failed,       // `operation` is the error that it has
        ahead         // as behind, with a higher count
    };
    Kind kind = Kind::behind;
    std::string communicator{}; // a hash; of equal ones the rank is the same
    int rank = 0;               // in the communicator
    int size = 0;               // of it
    std::string host{};         // an address, as NCCL has it
    std::int64_t pid = 0;       // in its container
    std::string operation{};    // AllReduce
    std::int64_t count = 0, most = 0;
    bool waits = false; // where it is behind: in another communicator it is one that others are behind
    bool operator==(const RasRank&) const = default;
};

struct RasReport {
    std::string problem{}; // why there is no evidence; empty with a version: there is some
    std::string version{}; // of NCCL
    // How long it has been so: between two looks at the counts; 0: there was one alone, and no count
    // differed.
    std::int64_t asked_ms = 0;
    bool moves = false; // counts differ, and grow
    std::vector<RasRank> ranks{};
    bool operator==(const RasReport&) const = default;
};

nlohmann::json ras_object(const RasReport& report);
void read_ras(ObjectReader& reader, RasReport& report);

} // namespace dockdist::wire
