// What voters say to each other, and its bytes. All of it comes from other nodes, and is read with bounds:
// who says something else than this is not listened to any more. Who speaks is the link's word, and stands in
// none.
#pragma once

#include "node/book/entry.hpp"

#include <optional>
#include <variant>

namespace dockdist::node {

inline constexpr std::size_t most_message_bytes = 96U << 20U;

// Of a leader: the entries behind one of which both should have the same, or none: that it is still there.
struct AppendEntries {
    std::uint64_t term = 0; // of who speaks, as in the others
    std::uint64_t before_index = 0, before_term = 0;
    std::uint64_t committed = 0;
    std::vector<LogEntry> entries{};
    bool operator==(const AppendEntries&) const = default;
};
struct AppendResult {
    std::uint64_t term = 0;
    std::uint64_t rejected = 0; // the index that did not fit; 0: it did
    std::uint64_t last_index = 0;
    bool operator==(const AppendResult&) const = default;
};
struct RequestVote {
    std::uint64_t term = 0, last_index = 0, last_term = 0;
    bool trial = false; // asks whether it would be elected, and changes nothing
    bool operator==(const RequestVote&) const = default;
};
struct VoteResult {
    std::uint64_t term = 0;
    bool granted = false, trial = false;
    bool operator==(const VoteResult&) const = default;
};
struct InstallSnapshot {
    std::uint64_t term = 0;
    Snapshot snapshot{};
    bool operator==(const InstallSnapshot&) const = default;
};

using Message = std::variant<AppendEntries, AppendResult, RequestVote, VoteResult, InstallSnapshot>;

std::string to_bytes(const Message& message);
Result<Message> parse_message(std::string_view bytes); // Errors: protocol

} // namespace dockdist::node
