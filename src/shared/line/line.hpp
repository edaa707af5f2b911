// Which of a cluster's waiting jobs begin now, and where: one order over all hosts, whose boards
// (shared/gpu/board.hpp) other clusters share. Pure, and without a memory: what it is shown may be old, and
// each board has the last word on its host. What it wants is wanted again until it is seen.
//
//   submitted ──fits, and nobody before it is harmed──▶ ask ──all have taken──▶ running
//       │ else                                           ▲  │ one refuses: all give back
//       ▼                                                │  ▼
//   tickets on the boards of the nodes where it will fit first, of one number on all of them (Skeen's total
//   order: the greatest that any of these boards gave), which it keeps; it begins there, or wherever it fits
//   before
#pragma once

#include "shared/gpu/board.hpp"
#include "shared/gpu/place.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// The same machine under all nodes of a cluster that it holds.
struct LineHost {
    Board board{}; // as one of these has told it last
};

struct LineNode {
    std::string name{};
    std::size_t host = 0;
    bool there = true;                  // it answers
    std::vector<std::string> units{};   // ids of those that it may give out
    std::vector<std::size_t> domains{}; // Site::domains
    bool operator==(const LineNode&) const = default;
};

struct LineView {
    std::string cluster{};
    std::vector<LineHost> hosts{};
    std::vector<LineNode> nodes{};
};

// A job of this cluster that is not over.
struct LineJob {
    enum class Phase { waiting, asking, running };
    std::string name{};
    Phase phase = Phase::waiting;
    int priority = 0;           // the greater goes ahead
    std::int64_t number = 0;    // in line; 0: it has none yet
    std::vector<Seats> seats{}; // which nodes will do, by index
    int wanted = 0;             // units on each of them; wire::all_units
    // asking, running: its nodes, in the order of the seats.
    std::vector<std::size_t> at{};
    int refusals = 0; // since it was submitted: of an ask, by some board
};

// Why a job does not begin.
struct LineReason {
    std::size_t job = 0;                     // by index
    bool too_few = false;                    // of the nodes that would do answer
    std::vector<std::size_t> at{};           // where it waits, by node
    std::vector<wire::GpuParty> holders{};   // of what would do there, each once
    std::vector<std::string> ahead{};        // jobs of this cluster that are to have some of it before
    std::vector<wire::GpuParty> strangers{}; // those of other clusters, each once
    bool operator==(const LineReason&) const = default;
};

struct LineStep {
    enum class Do {
        ask,    // `nodes` are to take its units, all or none
        ticket, // `nodes`, which is one, is to have a ticket of it with `number`; 0: its board gives the next
        number, // is the job's from now on, whatever becomes of its tickets: the greatest of those given
        leave,  // `nodes`, which is one, is to have no ticket of it
    };
    Do what = Do::ask;
    std::string job{};
    std::vector<std::size_t> nodes{};
    std::int64_t number = 0;
    bool operator==(const LineStep&) const = default;
};

struct LineDecision {
    std::vector<LineStep> steps{};
    std::vector<LineReason> waits{}; // in the order of the line
};

// `jobs`: in the order in which they were submitted. Every job but those that it asks for has its turn on
// what those before it leave: by priority, then number (who has none comes last), then name, as goes_before
// says.
LineDecision decide(const std::vector<LineJob>& jobs, const LineView& view);

// On a board, of the tickets of one cluster: others have to find room.
inline constexpr std::size_t most_tickets = 64;

} // namespace dockdist
