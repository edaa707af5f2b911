#include "node/book/file_disk.hpp"
#include "shared/core/new_file.hpp"
#include "unit/node/scratch.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace file_disk_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

// A configuration of C-Raft's: voter 1 alone.
const std::string one_voter("\1\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0001\0\1", 20);

std::vector<LogEntry> first_entries() {
    return {{.term = 1, .type = EntryType::members, .bytes = one_voter},
            {.term = 1, .type = EntryType::barrier},
            {.term = 2, .bytes = "some"}};
}

Snapshot snapshot_at(std::uint64_t index, std::uint64_t term) {
    return {.index = index,
            .term = term,
            .members_index = 1,
            .members = {{.id = 1, .votes = true}},
            .state = "state"};
}

std::string first_block() {
    const auto entries = first_entries();
    return log_block(1, std::span(entries).first(2));
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A folder with a disk that has three entries, in two blocks.
struct SomeDisk {
    Scratch scratch{};
    FileDisk disk{scratch / "book"};
    SomeDisk() {
        const auto entries = first_entries();
        REQUIRE(disk.load().has_value());
        REQUIRE(disk.set_term(2, 3).has_value());
        REQUIRE(disk.append(std::span(entries).first(2)).has_value());
        REQUIRE(disk.append(std::span(entries).last(1)).has_value());
    }
    std::string log() const { return scratch.path + "/book/log"; }
    Result<Stored> read_again() const { return FileDisk(scratch.path + "/book").load(); }
};

} // namespace

TEST_CASE("a new disk is empty, and what was written is read back") {
    const Scratch scratch;
    FileDisk disk(scratch / "book");
    const auto empty = disk.load();
    REQUIRE(empty.has_value());
    CHECK(empty->term == 0);
    CHECK(empty->entries.empty());
    CHECK(empty->first_index == 1);
    const SomeDisk some;
    const auto stored = some.read_again();
    REQUIRE(stored.has_value());
    CHECK(stored->term == 2);
    CHECK(stored->vote == 3);
    CHECK(stored->entries == first_entries());
}

TEST_CASE("an entry and all behind it are cut, and others take their place") {
    SomeDisk some;
    REQUIRE(some.disk.truncate(2).has_value());
    const std::vector<LogEntry> others{{.term = 2, .bytes = "other"}};
    REQUIRE(some.disk.append(others).has_value());
    const auto stored = some.read_again();
    REQUIRE(stored.has_value());
    REQUIRE(stored->entries.size() == 2);
    CHECK(stored->entries.back() == others.front());
}

TEST_CASE("a snapshot takes the place of entries, of all where it comes from another log") {
    for (const bool own : {true, false}) {
        CAPTURE(own);
        SomeDisk some;
        const auto snapshot = snapshot_at(own ? 2 : 9, own ? 1 : 2);
        REQUIRE(some.disk.put_snapshot(snapshot, own ? std::optional<std::uint64_t>(2) : std::nullopt)
                    .has_value());
        CHECK(*some.disk.get_snapshot() == snapshot);
        const std::vector<LogEntry> next{{.term = 2, .bytes = "next"}};
        REQUIRE(some.disk.append(next).has_value());
        const auto stored = some.read_again();
        REQUIRE(stored.has_value());
        CHECK(stored->snapshot == snapshot);
        CHECK(stored->first_index == (own ? 2 : 10));
        CHECK(stored->entries.size() == (own ? 3 : 1));
        CHECK(stored->entries.back() == next.front());
    }
}

TEST_CASE("a machine that dies between a leader's snapshot and the log that goes for it loses nothing") {
    SomeDisk some;
    const auto old_log = bytes_of(some.log());
    REQUIRE(some.disk.put_snapshot(snapshot_at(9, 2), std::nullopt).has_value());
    write(some.log(), old_log);
    const auto stored = some.read_again();
    REQUIRE(stored.has_value());
    CHECK(stored->first_index == 10);
    CHECK(stored->entries.empty());
}

TEST_CASE("wherever the last block ends, those before it are there, and the log goes on behind them") {
    const SomeDisk some;
    const auto whole = bytes_of(some.log());
    const auto first = first_block().size();
    REQUIRE(whole.starts_with(first_block()));
    for (auto size = first; size < whole.size(); ++size) {
        CAPTURE(size);
        for (const bool zeros : {false, true}) { // the file has grown, and what is in it has not come
            write(some.log(), whole.substr(0, size) + std::string(zeros ? whole.size() - size : 0, '\0'));
            FileDisk disk(some.scratch.path + "/book");
            const auto stored = disk.load();
            REQUIRE(stored.has_value());
            CHECK(stored->entries.size() == 2);
            const std::vector<LogEntry> next{{.term = 2, .bytes = "next"}};
            REQUIRE(disk.append(next).has_value());
            const auto again = some.read_again();
            REQUIRE(again.has_value());
            CHECK(again->entries.back() == next.front());
        }
    }
}

TEST_CASE(
    "a changed byte is never taken for what was written: the block goes if it is the last, else an error") {
    const SomeDisk some;
    const auto whole = bytes_of(some.log());
    const auto first = first_block().size();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        CAPTURE(at);
        auto changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write(some.log(), changed);
        const auto stored = some.read_again();
        if (at < first) {
            REQUIRE_FALSE(stored.has_value());
            CHECK(stored.error().message.ends_with("log is damaged"));
        } else {
            REQUIRE(stored.has_value());
            CHECK(stored->entries.size() == 2);
        }
    }
}

TEST_CASE("a damaged term or snapshot is an error, and so is a term that is older than the log") {
    for (const auto* name : {"term", "snapshot"}) {
        CAPTURE(name);
        SomeDisk some;
        REQUIRE(some.disk.put_snapshot(snapshot_at(2, 1), 1).has_value());
        const auto path = some.scratch.path + "/book/" + name;
        const auto whole = bytes_of(path);
        for (std::size_t at = 0; at < whole.size(); ++at) {
            CAPTURE(at);
            auto changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 1);
            write(path, changed);
            CHECK_FALSE(some.read_again().has_value());
        }
    }
    const SomeDisk some;
    std::filesystem::remove(some.scratch.path + "/book/term");
    CHECK_FALSE(some.read_again().has_value());
}

TEST_CASE("an entry that its disk refuses is not there afterwards, unless it is durable") {
    for (const int why : {ENOSPC, EIO}) {
        SomeDisk some;
        int synced = 0;
        syncing() = [&](int) {
            ++synced;
            errno = why;
            return -1;
        };
        const std::vector<LogEntry> next{{.term = 2, .bytes = "next"}};
        CHECK_FALSE(some.disk.append(next).has_value());
        CHECK_FALSE(some.disk.append(next).has_value()); // nothing is put behind what may be broken
        CHECK(synced == 1);
        CHECK_FALSE(some.disk.set_term(3, 0).has_value());
        CHECK_FALSE(some.disk.load().has_value()); // which writes the log anew
        syncing() = ::fsync;
        const auto stored = some.disk.load();
        REQUIRE(stored.has_value());
        CHECK(stored->term == 2);
        CHECK(stored->entries.size() == 4); // the kernel had it, and now the disk has
    }
}

} // namespace file_disk_test
