// A tree of files as both sides speak of it, and the words in which it travels. `dockdist-init sync JSON`
// runs as root in a node through an exec; JSON is a SyncOpening. Messages go both ways; the node answers them
// in order, and each `barrier` with one `done`.
//
//   4 bytes  u32  length of what follows, at most max_sync_message
//   1        u8   kind, see SyncMessage::Kind
//   1        u8   type, of an entry: 'f' file, 'd' folder, 'l' link, 'o' other; else 0
//   4        u32  mode, permission bits only
//   8        u64  size, or flags
//   8        i64  time, of a file's last change, in nanoseconds since 1970
//   2        u16  length of the name, then the name, then the text to the end; integers little-endian
//
// What answers `fetch`: one `entry` that says whether a file or a folder comes. Then the one file, or the
// folder's content depth first, each folder's in the order of the names' bytes: `folder`, its content, its
// `mode`. So no name comes twice, and a receiver can tell without remembering what came.
//
// A name is relative to the folder that `open` or `fetch` has named: it never begins with '/', and has no
// component that is empty, "." or "..". A message that breaks this is refused by the decoder, so neither side
// can be led out of its folder by a name.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/unread_bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::wire {

struct TreeEntry {
    enum class Type : std::uint8_t { none = 0, file = 'f', folder = 'd', link = 'l', other = 'o' };
    std::string name{};
    Type type = Type::none;
    std::uint32_t mode = 0;
    std::uint64_t size = 0; // of a file
    std::int64_t time_ns = 0;
    std::string target{}; // of a link
    bool operator==(const TreeEntry&) const = default;
};

bool is_tree_name(std::string_view name);

// Whether a link of that name leads to a place in its own tree, whatever other links of this kind the tree
// holds: a relative target that goes up first, by no more than there is, and then only down.
bool stays_in_tree(std::string_view link, std::string_view target);

// What names of files that are being written begin with; such names are no part of a tree. Those of the
// second kind are gone on with later.
inline constexpr std::string_view temporary_prefix = ".dockdist-sync-";
inline constexpr std::string_view begun_prefix = ".dockdist-data-";
bool is_temporary(std::string_view name);

struct SyncMessage {
    enum class Kind : std::uint8_t {
        // client → node
        open = 'O',    // text: the folder that names are relative to; size: 1 to make it where it is missing
        list = 'L',    // the entries of one folder; size: see ListFlags
        digest = 'H',  // of a file's content
        remove = 'R',  // a file, a link or an empty folder
        mode = 'M',    //
        time = 'T',    //
        token = 'W',   // text: leaves a file of that name in the folder …
        look = 'Q',    // … says whether it is there …
        forget = 'U',  // … and removes it
        stat = 'S',    // text: a path anywhere; links are followed
        fetch = 'G',   // text: a path anywhere, whose tree is sent
        barrier = '.', //
        // either way
        folder = 'D',   //
        link = 'K',     // text: its target
        file = 'F',     // then data until end_file
        data = 'B',     // text
        end_file = 'E', // size: 1 whole, 0 given up
        // node → client
        opened = 'o',  // size: see OpenedFlags
        entry = 'e',   //
        hashed = 'h',  // text: 16 bytes; empty: it cannot be read
        seen = 's',    // size: 1 when the token is there
        warning = 'w', // text
        problem = 'p', // text: message, '\n', hint; size: see ProblemFlags
        done = '!',    // size: how many problems there were since the last one
    };
    Kind kind = Kind::barrier;
    TreeEntry::Type type = TreeEntry::Type::none;
    std::uint32_t mode = 0;
    std::uint64_t size = 0;
    std::int64_t time_ns = 0;
    std::string name{};
    std::string text{};
    bool operator==(const SyncMessage&) const = default;
};

struct ListFlags {
    static constexpr std::uint64_t remove_begun = 1; // files that are begun go, however new they are
};
struct OpenedFlags {
    static constexpr std::uint64_t there = 1;        // the folder is there
    static constexpr std::uint64_t maybe_shared = 2; // it is not on the container's own file system
};
struct ProblemFlags {
    static constexpr std::uint64_t final = 1;     // nothing more can be done: the disk is full
    static constexpr std::uint64_t not_found = 2; // of fetch: there is no such path
};

inline constexpr std::size_t sync_header = 28;         // with the four bytes of length
inline constexpr std::size_t sync_piece = 256U << 10U; // how much of a file one message holds
inline constexpr std::size_t max_sync_message = 1U << 20U;

void append(std::string& out, const SyncMessage& message);
void append_data(std::string& out, std::string_view bytes); // a message `data`, without a copy first
SyncMessage to_message(SyncMessage::Kind kind, const TreeEntry& entry);
TreeEntry to_entry(SyncMessage message);

// Feed bytes in pieces of any size, take whole messages out; an error is final. Holds no more than one
// message and what was fed.
class SyncDecoder {
public:
    void feed(std::string_view bytes) { unread_.feed(bytes); }
    Result<std::optional<SyncMessage>> next();

private:
    UnreadBytes unread_{};
};

// The argument of `dockdist-init sync`.
struct SyncOpening {
    std::string user{};    // whom files belong to, and as whom they are written; empty: root
    std::string workdir{}; // what relative paths of stat and fetch count from; empty: the container's own
};
std::string sync_opening(const SyncOpening& opening);
Result<SyncOpening> parse_sync_opening(std::string_view text);

} // namespace dockdist::wire
