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
#include <tuple>
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
// Of how many ranks of a communicator, by their count of one operation, the count that most have; of two such
// the higher one. Who has fewer is behind, whoever has more.
std::int64_t usual_count(const std::map<std::int64_t, std::size_t>& ranks);
// Who is behind in one communicator because it waits in another one, for who is behind there, is no cause of
// anything: they are left out; in a circle all of them are, and stay. `in_front`: who has launched what
// another one has not.
using RasProcess = std::pair<std::string, std::int64_t>; // host, pid
void keep_roots(RasStatus& status, const std::set<RasProcess>& in_front);
// Errors: protocol.
Result<RasStatus> read_ras_json(std::string_view text);
Result<RasStatus> read_ras_text(std::string_view text);

// `later` was asked `between_ms` after `first`.
wire::RasReport compare_ras(const RasStatus& first, const RasStatus& later, std::int64_t between_ms);
// Where nothing differs: one answer is enough.
wire::RasReport report_of(const RasStatus& only);

// Sorts what says most to the front. An error is often of what another one has done, and who is ahead is no
// culprit.
std::tuple<int, int, std::string, std::string> ras_order(const wire::RasRank& rank);

struct RasPlace { // where a rank of the job runs
    int rank = 0;
    std::string host{}; // as wire::RasRank::host says it
    std::int64_t pid = 0;
    bool waits = false; // by its stack, for other ranks: then it has not left them
};
// Of what nodes have heard. `world`: of so many ranks a communicator is the job's own.
Evidence judge_ras(const std::vector<wire::RasReport>& reports, const std::vector<RasPlace>& places,
                   int world);

} // namespace dockdist
