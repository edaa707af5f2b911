// Asks torch's flight recorder in a rank for a dump, and reads it.
//
// Source: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, torch 2.6 to 2.14: a FIFO at
// TORCH_NCCL_DEBUG_INFO_PIPE_FILE, the rank's number and ".pipe", is looked at each second; whatever is
// written there makes the rank write its dump to TORCH_FR_DUMP_TEMP_FILE (or TORCH_NCCL_DEBUG_INFO_TEMP_FILE)
// and the number, in a thread that wants Python's GIL. Both are in a folder that the rank may write to, so
// this is run as its user, and takes nothing there for what it is called.
#pragma once

#include "shared/wire/flight_record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist::node {

class FlightLook {
public:
    // Asks. `environ`: the rank's. `rank`: its number where that does not say it; −1: not known.
    FlightLook(std::string_view environ, int rank);
    // Waits for the dump, `limit_ms` at most from the asking on. Nothing in the record: it has no recorder,
    // or has not made a group of NCCL yet.
    wire::FlightRecord read(std::int64_t limit_ms = 3000) const;

private:
    struct Written { // what tells one dump from the one before
        std::int64_t modified_ns = 0;
        std::int64_t size = -1; // there is none
        bool operator==(const Written&) const = default;
    };
    static Written written(const std::string& path);
    bool ask(const std::string& pipe);

    std::string dump_{}; // empty: nothing was asked
    std::string problem_{};
    Written before_{};
    std::int64_t asked_ms_ = 0;
};

} // namespace dockdist::node
