// What is to be said of how busy a node is. shared/load/findings.hpp finds it in samples and says it in
// words; a job's record (shared/wire/job_usage.hpp) keeps it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t most_kept_findings = 64; // in a job's record, of a node

struct Finding {
    enum class Kind {
        idle,      // the job's GPUs do nothing, for as long as JobPolicy::idle_ms; in records alone
        low_power, // busy, and yet it draws little: it waits in a kernel, for others
        thermal,
        hw_slowdown, // the hardware holds its clock down, and not for heat: a power brake, its power supply
        slow_rank,
        memory_grows,
        disk_full,
        no_figures, // nvidia-smi fails, or tells of this GPU no more
    };
    Kind kind = Kind::low_power;
    std::string node{}; // as the client names it; a node's own words are without
    int gpu = -1;       // index; -1: of no GPU
    std::string job{};  // of slow_rank and memory_grows; empty where all is of one job
    int rank = -1;
    std::string disk{};      // of disk_full: where it is mounted
    std::int64_t for_ms = 0; // for which it has held, in a record all together; 0: not told
    std::string about{};     // its own figures: "102 W of 700 W"
    bool operator==(const Finding&) const = default;
};

// "low_power", in JSON.
const char* name_of(Finding::Kind kind);

// Node and job are not in it: whoever reads a record knows them.
void to_json(nlohmann::json& json, const Finding& finding);
// False: it is of a kind that a later version has.
bool read_fields(ObjectReader& reader, Finding& finding);

} // namespace dockdist::wire
