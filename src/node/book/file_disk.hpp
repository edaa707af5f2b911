// A voter's disk: three files in a folder that is root's alone.
//
//   term      the term and the vote
//   snapshot  the latest one; replaced whole
//   log       blocks: what was appended at once is one, with a checksum, so that it is there whole or not at
//   all
//
// Each block of the log is synced before the next one is written. So a broken block at the end is one that
// was never acknowledged, and goes; one with a sound block behind it is a broken disk. load() writes the log
// anew: what the kernel took and its disk refused would otherwise be read back as if it were there.
#pragma once

#include "node/book/disk.hpp"
#include "shared/core/fd.hpp"

#include <string>

namespace dockdist::node {

class FileDisk final : public Disk {
public:
    explicit FileDisk(std::string folder)
        : folder_(std::move(folder)) {} // made by load() where it is not there

    // Errors: node, the disk is full, broken or gone; protocol, what stands there is damaged.
    Result<Stored> load() override;
    Status set_term(std::uint64_t term, VoterId vote) override;
    Status append(std::span<const LogEntry> entries) override;
    Status truncate(std::uint64_t from_index) override;
    Status put_snapshot(const Snapshot& snapshot, std::optional<std::uint64_t> first_kept) override;
    Result<Snapshot> get_snapshot() override;

private:
    std::string path(const char* name) const { return folder_ + "/" + name; }
    Status write_log(std::uint64_t first_index, std::span<const LogEntry> entries);
    Result<std::vector<LogEntry>> read_log(std::uint64_t& first_index) const;

    std::string folder_;
    Fd log_{};
    std::uint64_t next_index_ = 1;
};

// What a log's bytes hold; its last block may be broken, and is not there then. Error (protocol): another one
// is, or they are of no log. Sets `first_index` where there is an entry.
Result<std::vector<LogEntry>> parse_log(std::string_view bytes, std::uint64_t& first_index);
// A block of entries, the first one of that index.
std::string log_block(std::uint64_t first_index, std::span<const LogEntry> entries);

} // namespace dockdist::node
