// What the voters' log and snapshots are made of, and its bytes: the same on disk and between voters.
// Integers have their lowest byte first; texts have their length, u32, before them.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// A voter's disk has one for life: a new disk is a new voter, as it has forgotten for whom it has voted.
using VoterId = std::uint64_t; // 0: none

inline constexpr std::size_t most_entry_bytes =
    (1U << 20U) + (4U << 10U);                 // a record, its name, a few numbers
inline constexpr std::size_t most_members = 9; // voters and spares

enum class EntryType : std::uint8_t {
    command = 1, // of the records
    barrier = 2, // nothing: what a leader begins its term with
    members = 3, // who is a member from here on, in C-Raft's form
};

struct LogEntry {
    std::uint64_t term = 0; // of the leader that wrote it; from 1 on
    EntryType type = EntryType::command;
    std::string bytes{}; // empty of a barrier
    bool operator==(const LogEntry&) const = default;
};

struct Member {
    VoterId id = 0;
    bool votes = false; // else it is a spare, which has no log until it is made a voter
    bool operator==(const Member&) const = default;
};
using Members = std::vector<Member>;

// All that was committed up to an entry, in its place.
struct Snapshot {
    std::uint64_t index = 0; // of that entry, with its term; from 1 on
    std::uint64_t term = 0;
    std::uint64_t members_index = 0; // of the entry that made the members what they are
    Members members{};
    std::string state{}; // the records
    bool operator==(const Snapshot&) const = default;
};

inline constexpr std::size_t most_state_bytes = 64U << 20U;

void put_text(std::string& out, std::string_view text);
void put_entry(std::string& out, const LogEntry& entry);
void put_snapshot(std::string& out, const Snapshot& snapshot);

// Takes values off the front of bytes that somebody else has written. Once something was not there, or out of
// its bounds, it has failed, and gives zeros from then on.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
    std::uint64_t number(std::size_t bytes);
    std::string_view text(std::size_t most);
    LogEntry entry();
    Snapshot snapshot();
    void require(bool kept) { failed_ = failed_ || !kept; }
    bool failed() const { return failed_; }
    bool at_end() const { return rest_.empty(); }
    std::size_t left() const { return rest_.size(); }

private:
    std::string_view take(std::size_t count);

    std::string_view rest_;
    bool failed_ = false;
};

// C-Raft's own form of a configuration, which it reads without bounds: nothing else may reach it. Errors
// (protocol): it is no such thing, has more members than most_members, one twice, or no voter.
Result<Members> parse_members(std::string_view bytes);

} // namespace dockdist::node
