// What a voter must not forget, whatever happens to its machine.
#pragma once

#include "node/book/entry.hpp"

#include <optional>
#include <span>

namespace dockdist::node {

struct Stored {
    std::uint64_t term = 0;
    VoterId vote = 0; // given in that term
    std::optional<Snapshot> snapshot{};
    std::uint64_t first_index = 1;   // of the entries; not behind the one after the snapshot's
    std::vector<LogEntry> entries{}; // without a gap
};

// Each call returns when what it was given is on the disk, or fails, and then part of it may be there. After
// a failure load() is the next call.
class Disk {
public:
    Disk() = default;
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    virtual ~Disk() = default;

    virtual Result<Stored> load() = 0; // what is there, and is durable from now on
    virtual Status set_term(std::uint64_t term, VoterId vote) = 0;
    virtual Status append(std::span<const LogEntry> entries) = 0; // behind the last one
    virtual Status truncate(std::uint64_t from_index) = 0;        // that entry and all behind it go
    // In the place of the one before it. Of the entries stay those from `first_kept` on; without it none, and
    // the log goes on behind the snapshot.
    virtual Status put_snapshot(const Snapshot& snapshot, std::optional<std::uint64_t> first_kept) = 0;
    virtual Result<Snapshot> get_snapshot() = 0;
};

} // namespace dockdist::node
