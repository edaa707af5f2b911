// One of the few nodes that keep the records: at each moment one of them leads, and what it accepts is on the
// disks of a majority. The agreement is C-Raft's (libraft, its core alone); ours are its disk, its messages
// and what is agreed on. No threads, no clock, no sockets: whoever has one drives it, and calls it again only
// when a call has returned; what it calls back (Send, an answer, a change) must not call receive(), tick() or
// open() before it has returned.
//
// Where libraft 0.15 is not safe by itself, this keeps clear of it (raft_*.cpp say how, at the place):
// - the disk is synced before a call returns, and a disk that fails ends the voter until it is opened anew;
// - a leader begins with an entry of its own term, and takes nothing before that is committed;
// - what is said to fit of a log is what was looked at, not all that is there;
// - a log that a leader contradicts is cut on the disk, and read anew: nothing is cut in memory;
// - no snapshot is taken while who is a member is not settled;
// - no leader removes itself, and a spare votes: else the log's end could name voters of whom none can be
//   elected (Raft's dissertation, 4.2.2);
// - leadership is not handed over, and no message that asks for it is known.
#pragma once

#include "node/book/disk.hpp"
#include "node/book/records.hpp"

#include <functional>
#include <memory>
#include <string>

namespace dockdist::node {

struct VoterOptions {
    VoterId self = 0;
    // A follower that hears nothing for one to two of these stands for election; a leader that hears of no
    // majority for one stops leading. At least ten round trips, and ten of tick()'s intervals.
    unsigned election_ms = 2000;
    unsigned heartbeat_ms = 200; // about as often tick() is called
    // So much of a log, and one snapshot more, are kept in memory, and sent at once to one who is behind.
    std::size_t log_bytes = 16U << 20U;
    std::function<int(int least, int most)> random{}; // both included
};

// What became of a proposal.
struct Answer {
    enum class Outcome {
        accepted,   // and on the disks of a majority
        conflict,   // the record is of that version (0: there is none); nothing has changed
        full,       // there is no room for it; nothing has changed
        refused,    // it makes no sense, or another change of members is under way; nothing has changed
        not_leader, // that one may be (0: nobody knows); nothing has changed
        unknown,    // it may be accepted yet, or never: the majority was lost, or this voter's disk
    };
    Outcome outcome = Outcome::accepted;
    std::uint64_t version = 0; // accepted: the record's new one
    VoterId leader = 0;
    std::string why{}; // of a refusal
    bool operator==(const Answer&) const = default;
};
using Answered = std::function<void(const Answer&)>;

class RaftMachine;

class Voter {
public:
    // Takes a message to another voter, or loses it: late, twice, in any order.
    using Send = std::function<void(VoterId to, std::string message)>;
    // A record has another version, or is gone: told at every voter, once it is committed. After restored
    // snapshots with an empty name: any record may be another one.
    using Changed = std::function<void(const std::string& name)>;

    // The first of a new book's disks, or each of them: with the same members. Errors: conflict, there is
    // something on it already; those of the disk.
    static Status found(Disk& disk, const Members& members);

    Voter(VoterOptions options, Disk& disk, Send send, Changed changed);
    Voter(const Voter&) = delete;
    Voter& operator=(const Voter&) = delete;
    ~Voter();

    // Reads the disk. An empty one waits for a leader that knows it (add()). Errors: those of the disk.
    // `now_ms`, here and below, never goes back.
    Status open(std::int64_t now_ms);
    // About each heartbeat. A voter whose disk has failed tries to open it now and then.
    void tick(std::int64_t now_ms);
    // Errors (protocol): no voter of this release says so. Hang up.
    Status receive(VoterId from, std::string_view message, std::int64_t now_ms);

    // A change of a record. Answered once, possibly before this returns; never, where the voter goes first.
    void propose(RecordChange change, Answered answered);
    // Changes of members, one after the other. A voter that comes is added as a spare, then promoted, which
    // waits until it has all there is; none is added while an old one that it replaces counts and is gone, if
    // that leaves no majority: remove that first. `unknown` of a promotion: it was too slow, or see above.
    void add(VoterId id, Answered answered);
    void promote(VoterId id, Answered answered);
    void remove(VoterId id, Answered answered); // not the leader itself: see step_down()
    // Leads no more; another voter is likely to be the next one, if there is one.
    void step_down();

    const Records& records() const;
    Members members() const; // as far as it knows
    bool leads() const;      // and takes proposals
    VoterId leader() const;  // 0: it knows none
    std::uint64_t term() const;
    std::uint64_t committed() const;            // the index up to which it has applied all
    const std::optional<Error>& failed() const; // why it does nothing: its disk

private:
    std::unique_ptr<RaftMachine> machine_;
};

} // namespace dockdist::node
