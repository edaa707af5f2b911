// What NCCL's RAS answers to STATUS, as JSON (from 2.28.7 on) and as text (2.24 to 2.28.3), and what two such
// answers say together. Pure.
//
// Source: NCCL's src/ras/client_support.cc, tags v2.24.3-1 to v2.30.7-1. That of 2.28.7 and 2.28.9 forgets a
// comma where ranks are missing. Counts are of what was launched, not of what is done, and the host runs
// ahead of the GPU: that they differ says something only where none of them moves.
#pragma once

#include "shared/core/result.hpp"
#include "shared/diagnosis/evidence.hpp"
#include "shared/wire/ras_report.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

inline constexpr std::size_t most_ras_bytes = 64U << 20U;

struct RasStatus {
    std::string version{};
    std::vector<wire::RasRank> ranks{}; // who is not where the others are; of these who waits for nobody
    std::map<std::string, std::string> progress{}; // of a communicator: equal as long as nothing moves in it
    bool differs() const;                          // counts do
};
// Who is behind in one communicator because it waits in another one, for who is behind there, is no cause of
// anything: they are left out; in a circle all of them are, and stay.
using RasProcess = std::pair<std::string, std::int64_t>; // host, pid
void keep_roots(RasStatus& status, const std::set<RasProcess>& in_front);
// Errors: protocol.
Result<RasStatus> read_ras_json(std::string_view text);
Result<RasStatus> read_ras_text(std::string_view text);

// `later` was asked `between_ms` after `first`.
wire::RasReport compare_ras(const RasStatus& first, const RasStatus& later, std::int64_t between_ms);
// Where nothing differs: one answer is enough.
wire::RasReport report_of(const RasStatus& only);

struct RasPlace { // where a rank of the job runs
    int rank = 0;
    std::string host{}; // its node's address
    std::int64_t pid = 0;
};
// Of what nodes have heard. `world`: of so many ranks a communicator is the job's own.
Evidence judge_ras(const std::vector<wire::RasReport>& reports, const std::vector<RasPlace>& places,
                   int world);

} // namespace dockdist
