// The board of a host (shared/gpu/board.hpp) as files in a folder that all its nodes share, and the locks
// that make it true.
//
//   lock        one file, never replaced. Bytes of it are locked by open file description (F_OFD_SETLK): such
//               a lock goes with the last copy of its descriptor, so with its processes, however they end.
//               Byte 0 is the mutex of whoever changes the board; byte N is the life of entry N; and each
//               unit has one far behind these, which whoever holds it keeps locked: never two hold it, even
//               if the board is lost.
//   board.json  replaced by rename, by whoever has the mutex. What is no board is an empty one; one
//               of another format, which another release keeps, is an error: it may hold what this one cannot
//               see.
//   ports       locked as `lock` is: byte N by the node whose sshd has port N, or is to have it.
//
// Another cluster's root may write there too. Nothing of it is followed, waited for or read beyond its
// bounds; what he can do is to keep units for himself.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/gpu/board.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace dockdist::node {

class BoardFile {
public:
    // For one that takes part; makes what is missing.
    static Result<BoardFile> open();
    // For one that looks only, and wakes nobody by coming and going. not_found where there is none.
    static Result<BoardFile> open_to_look();
    BoardFile() = default; // none
    bool is_open() const { return lock_.open(); }

    // What it says now, without the entries whose processes are gone. Needs no mutex.
    Result<Board> read() const;
    // Whether the lock is still the one that others open; an error says that somebody has replaced it.
    Status check() const;

    bool try_mutex() { return lock(0); }
    void release_mutex();
    // When somebody has last given the mutex back: whoever waits for it sees whether it changes hands.
    std::int64_t released_at_ns() const;
    // With the mutex.
    Status write(const Board& board) const;
    // A new entry of this participant; conflict when no byte is left.
    Result<std::uint64_t> make_entry(Board& board);

    // False when another one has it.
    bool lock_unit(const std::string& id);
    void unlock_unit(const std::string& id);
    bool unit_is_locked(const std::string& id) const; // by another one
    void unlock_entry();

    // The open file description that all locks are of; a copy keeps them.
    int descriptor() const { return lock_.get(); }

private:
    explicit BoardFile(Fd lock) : lock_(std::move(lock)) {}
    bool lock(std::int64_t byte) const;
    void unlock(std::int64_t byte) const;
    bool is_locked(std::int64_t byte) const; // by another one

    Fd lock_{};
    std::uint64_t entry_ = 0;
};

// Of a port of one of this host's addresses, for as long as it is open. Nothing where another node of the
// same engine has it; not open where none can be had.
std::optional<Fd> lock_port(const std::string& address, int port);

} // namespace dockdist::node
