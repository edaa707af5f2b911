// Who holds which unit of a host, and who waits: what all nodes of the host share (layout::gpus,
// node/gpus/board_file.hpp), and whose turn it is. A unit is one of shared/wire/gpus.hpp.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/gpus.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// A job's part on one node, as a holder or in line.
struct BoardEntry {
    std::uint64_t id = 0; // the byte of the lock file that its processes keep locked; from 1
    wire::GpuParty who{}; // age_s and left_s are not kept
    // Unix time, of the host's clock: of a holder when it took, of a waiter when it came.
    std::int64_t since_ms = 0;
    std::vector<wire::GpuUnit> units{};    // held; empty: it waits
    int wanted = 0;                        // waiting: how many
    std::vector<std::string> candidates{}; // waiting: ids of which any would do
    int priority = 0;
    std::int64_t number = 0;   // waiting
    bool is_final = false;     // of the number
    std::int64_t until_ms = 0; // Unix time: when the time of a holder's job is over; 0: never, or not known
    bool operator==(const BoardEntry&) const = default;
};

bool holds(const BoardEntry& entry, std::string_view unit);
// Of these; null: nobody does.
const BoardEntry* holder_of(const std::vector<BoardEntry>& entries, std::string_view unit);
// Whose it is, with how long it has held or waited at this moment of the host's clock.
wire::GpuParty party_of(const BoardEntry& entry, std::int64_t now_ms);

struct Board {
    std::int64_t last_number = 0; // that any ticket of this host has had
    std::uint64_t last_id = 0;
    std::vector<BoardEntry> entries{};
    bool operator==(const Board&) const = default;
};

inline constexpr std::size_t max_board_size = 1U << 20U; // bytes
inline constexpr std::size_t max_board_entries = 4096;
inline constexpr std::uint64_t max_board_id = std::uint64_t{1} << 40U;
inline constexpr std::int64_t max_board_number = std::int64_t{1} << 53U; // all that get it are one in time

// What stands in it as "format"; without one it is this, as of those who wrote none.
inline constexpr std::int64_t board_format = 1;

std::string board_text(const Board& board);
// conflict: it has another format. protocol error for anything else that board_text does not write.
Result<Board> parse_board(std::string_view text);

// Whether `one` is served before `other`: by priority, then number, then names. Of entries that wait.
bool goes_before(const BoardEntry& one, const BoardEntry& other);

// How it stands with `own`: an entry that waits, in the board or not yet (then it stands behind all).
struct Verdict {
    bool fits = false;
    std::vector<std::string> free{}; // its candidates that it may choose from; at least `wanted` when it fits
    int place = 0;                   // from 1, among those that wait for any of its candidates
    std::vector<const BoardEntry*> ahead{};   // of these, the first first
    std::vector<const BoardEntry*> holders{}; // of its candidates
    // It can never fit: parts of the same job want more of the same units than there are. Holds the other
    // parts' nodes.
    std::vector<std::string> own_rivals{};
};
// Goes through the line in order. Each ticket gets, as if, as many of its candidates as it wants and as are
// left; what is left then the next ones may have. So nobody is overtaken, and nothing idles that the next one
// in line could use.
Verdict decide(const Board& board, const BoardEntry& own);

} // namespace dockdist
