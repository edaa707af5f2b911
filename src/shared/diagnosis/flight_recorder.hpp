// What a dump of torch's flight recorder says, and what those of a job's ranks together do. Pure.
//
// Source: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, of torch 2.6 to 2.15 (versions 2.4 to 2.10 of
// the dump), and dumps of real jobs.
#pragma once

#include "shared/core/result.hpp"
#include "shared/diagnosis/evidence.hpp"
#include "shared/wire/flight_record.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dockdist {

// `dumped_ns`: when it was written, by the clock of its host, in nanoseconds since 1970. Errors: protocol.
Result<wire::FlightRecord> read_flight_dump(std::string_view bytes, std::int64_t dumped_ns);

struct RankFlight {
    int rank = 0;
    const wire::FlightRecord* record = nullptr;
};
// A rank without a record is one of which nothing is known: no verdict is about it, none hangs on it.
Evidence judge_flight(const std::vector<RankFlight>& ranks);

} // namespace dockdist
