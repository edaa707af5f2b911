#include "node/book/file_disk.hpp"

#include "node/system/os.hpp"
#include "shared/core/new_file.hpp"
#include "shared/wire/little_endian.hpp"

#define XXH_INLINE_ALL
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

namespace dockdist::node {
namespace {

constexpr std::string_view block_mark = "book\1\2\r\n";
constexpr std::size_t block_head =
    block_mark.size() + 3 * sizeof(std::uint64_t); // checksum, length, first index
constexpr std::size_t most_log_bytes = 256U << 20U;
constexpr std::size_t most_block_bytes = 128U << 20U;
constexpr std::uint64_t file_format = 1;

// The rest of a file behind its checksum, format included.
std::string checked(std::string_view content) {
    std::string whole;
    wire::put_little_endian(whole, XXH3_64bits(content.data(), content.size()));
    whole += content;
    return whole;
}

Error damaged_file(const std::string& path) {
    return Error{.kind = ErrorKind::protocol,
                 .message = path + " is damaged",
                 .hint = "this voter's disk cannot be trusted: replace the node by `dockdist up`"};
}

// What checked() wrapped; not_found where there is no file.
Result<std::string> read_checked(const std::string& path, std::size_t most) {
    auto whole = read_file(path, most);
    TRY(whole);
    if (whole->size() < sizeof(std::uint64_t)) {
        return damaged_file(path);
    }
    const auto content = std::string_view(*whole).substr(sizeof(std::uint64_t));
    if (wire::get_little_endian(std::string_view(*whole).substr(0, sizeof(std::uint64_t))) !=
        XXH3_64bits(content.data(), content.size())) {
        return damaged_file(path);
    }
    return std::string(content);
}

Status replace_durably(const std::string& path, std::string_view content) {
    return replace_file(path, content, 0600, {::geteuid(), ::getegid()}, OnDisk::at_once);
}

struct Block {
    std::uint64_t first_index = 0;
    std::string_view entries{};
    std::size_t size = 0; // of all of it
};

// The block at the beginning of the bytes, if it is whole.
std::optional<Block> whole_block(std::string_view bytes) {
    if (bytes.size() < block_head || !bytes.starts_with(block_mark)) {
        return std::nullopt;
    }
    ByteReader head(bytes.substr(block_mark.size()));
    const auto checksum = head.number(sizeof(std::uint64_t));
    const auto length = head.number(sizeof(std::uint64_t));
    if (length > most_block_bytes || length > bytes.size() - block_head) {
        return std::nullopt;
    }
    const auto covered = bytes.substr(block_mark.size() + sizeof checksum, 2 * sizeof checksum + length);
    if (XXH3_64bits(covered.data(), covered.size()) != checksum) {
        return std::nullopt;
    }
    return Block{.first_index = wire::get_little_endian(covered.substr(sizeof length, sizeof length)),
                 .entries = bytes.substr(block_head, length),
                 .size = block_head + length};
}

// Whether something was written behind the broken block at the beginning. Its head may be what is broken, so
// its length says nothing; an entry that looks like a block is taken for one.
bool has_block_behind(std::string_view bytes) {
    for (auto at = bytes.find(block_mark, 1); at != std::string_view::npos;
         at = bytes.find(block_mark, at + 1)) {
        if (whole_block(bytes.substr(at))) {
            return true;
        }
    }
    return false;
}

Result<Snapshot> parse_snapshot_file(std::string_view content, const std::string& path) {
    ByteReader reader(content);
    reader.require(reader.number(1) == file_format);
    auto snapshot = reader.snapshot();
    if (reader.failed() || !reader.at_end()) {
        return damaged_file(path);
    }
    return snapshot;
}

} // namespace

std::string log_block(std::uint64_t first_index, std::span<const LogEntry> entries) {
    std::string body;
    for (const auto& entry : entries) {
        put_entry(body, entry);
    }
    std::string covered;
    wire::put_little_endian(covered, static_cast<std::uint64_t>(body.size()));
    wire::put_little_endian(covered, first_index);
    covered += body;
    return std::string(block_mark) + checked(covered);
}

Result<std::vector<LogEntry>> parse_log(std::string_view bytes, std::uint64_t& first_index) {
    Error damaged{.kind = ErrorKind::protocol, .message = "the log is damaged"};
    std::vector<LogEntry> entries;
    while (!bytes.empty()) {
        const auto block = whole_block(bytes);
        if (!block) {
            if (has_block_behind(bytes)) {
                return damaged;
            }
            break;
        }
        if (entries.empty()) {
            first_index = block->first_index;
        }
        if (block->first_index == 0 || block->first_index != first_index + entries.size()) {
            return damaged;
        }
        ByteReader reader(block->entries);
        while (!reader.failed() && !reader.at_end()) {
            const auto term = entries.empty() ? 0 : entries.back().term;
            entries.push_back(reader.entry());
            reader.require(entries.back().term >= term);
        }
        if (reader.failed()) {
            return damaged;
        }
        bytes.remove_prefix(block->size);
    }
    // A log begins with the members that it was made with.
    if (!entries.empty() && first_index == 1 && entries.front().type != EntryType::members) {
        return damaged;
    }
    return entries;
}

Result<std::vector<LogEntry>> FileDisk::read_log(std::uint64_t& first_index) const {
    const auto bytes = read_file(path("log"), most_log_bytes);
    if (!bytes && bytes.error().kind != ErrorKind::not_found) {
        return bytes.error();
    }
    auto entries = bytes ? parse_log(*bytes, first_index) : std::vector<LogEntry>{};
    return entries ? std::move(entries) : damaged_file(path("log"));
}

Result<Stored> FileDisk::load() {
    log_.reset();
    TRY(make_folder(folder_, 0700, {::geteuid(), ::getegid()}));
    Stored stored;
    const auto term = read_checked(path("term"), 1024);
    if (term) {
        ByteReader reader(*term);
        reader.require(reader.number(1) == file_format);
        stored.term = reader.number(sizeof stored.term);
        stored.vote = reader.number(sizeof stored.vote);
        if (reader.failed() || !reader.at_end()) {
            return damaged_file(path("term"));
        }
    } else if (term.error().kind != ErrorKind::not_found) {
        return term.error();
    }
    auto snapshot = get_snapshot();
    if (snapshot) {
        stored.snapshot = std::move(*snapshot);
    } else if (snapshot.error().kind != ErrorKind::not_found) {
        return snapshot.error();
    }
    auto entries = read_log(stored.first_index);
    TRY(entries);
    stored.entries = std::move(*entries);
    // A snapshot of a leader's was taken in the place of a log that was behind it, or was another one.
    const auto after = stored.snapshot ? stored.snapshot->index + 1 : 1;
    const auto end = stored.first_index + stored.entries.size();
    const bool joins =
        stored.first_index < after
            ? end >= after && stored.entries[after - 1 - stored.first_index].term == stored.snapshot->term
            : stored.first_index == after;
    if (!joins && !stored.entries.empty()) {
        if (stored.first_index > after) {
            return damaged_file(path("log"));
        }
        stored.entries.clear();
    }
    if (stored.entries.empty()) {
        stored.first_index = after;
    }
    // An entry's term was on the disk before it was, and nobody votes before there is a log.
    const auto newest = stored.entries.empty() ? 0 : stored.entries.back().term;
    if (stored.term < std::max(newest, stored.snapshot ? stored.snapshot->term : 0)) {
        return damaged_file(path("term"));
    }
    TRY(write_log(stored.first_index, stored.entries));
    return stored;
}

// Under another name at first, so that the old one is there until the new one is.
Status FileDisk::write_log(std::uint64_t first_index, std::span<const LogEntry> entries) {
    log_.reset();
    TRY(replace_durably(path("log"), entries.empty() ? std::string() : log_block(first_index, entries)));
    next_index_ = first_index + entries.size();
    log_ = Fd(::open(path("log").c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    return log_.open() ? Status(ok) : system_error("cannot write " + path("log"), errno);
}

Status FileDisk::set_term(std::uint64_t term, VoterId vote) {
    std::string content(1, static_cast<char>(file_format));
    wire::put_little_endian(content, term);
    wire::put_little_endian(content, vote);
    return replace_durably(path("term"), checked(content));
}

Status FileDisk::append(std::span<const LogEntry> entries) {
    if (!log_.open() || !write_whole(log_.get(), log_block(next_index_, entries)) ||
        syncing()(log_.get()) != 0) {
        const int why = log_.open() ? errno : EBADF;
        log_.reset(); // nothing is put behind what may be broken
        return system_error("cannot write " + path("log"), why);
    }
    next_index_ += entries.size();
    return ok;
}

Status FileDisk::truncate(std::uint64_t from_index) {
    std::uint64_t first_index = from_index;
    auto entries = read_log(first_index);
    TRY(entries);
    if (from_index < first_index) {
        return Error{.kind = ErrorKind::internal, .message = "cannot truncate what is not there any more"};
    }
    entries->resize(std::min<std::size_t>(entries->size(), from_index - first_index));
    return write_log(first_index, *entries);
}

Status FileDisk::put_snapshot(const Snapshot& snapshot, std::optional<std::uint64_t> first_kept) {
    std::uint64_t first_index = 0;
    auto entries = read_log(first_index);
    TRY(entries);
    const auto first = first_kept.value_or(snapshot.index + 1);
    const auto gone = std::min<std::size_t>(entries->size(), first > first_index ? first - first_index : 0);
    std::string content(1, static_cast<char>(file_format));
    node::put_snapshot(content, snapshot);
    TRY(replace_durably(path("snapshot"), checked(content)));
    return write_log(first, first_kept ? std::span(*entries).subspan(gone) : std::span<const LogEntry>());
}

Result<Snapshot> FileDisk::get_snapshot() {
    const auto content = read_checked(path("snapshot"), most_state_bytes + 4096);
    TRY(content);
    return parse_snapshot_file(*content, path("snapshot"));
}

} // namespace dockdist::node
