// Who carries a detached job: the line of succession, as one part of the job sees it. Pure: time and what
// others say comes in; whom to listen to, and whether it may decide, comes out.
//
// Terms. Each term has one coordinator: part `term mod parts`, so no two can have the same. A part obeys the
// coordinator of its own term and nobody else, and a term only grows. That is the fence: whoever carried the
// job before has no part left that hears it.
//
// The lease. A coordinator pings, members answer. It may decide for as long as half of the parts (itself one
// of them) have answered pings that it sent within the lease, by its own clock; then never again. A part that
// has heard nothing of it for the lease, counted from a later moment, ends what it runs, and only then goes
// into the next term: it dials that one's coordinator, passing over those that are lost. Who has the votes of
// more than half takes over; a vote is no lease, it comes with the pings after that. So between the last
// decision of the one and the first of the other a lease has passed at a part that both of them need. A part
// that hears its coordinator follows nobody into another term. With two parts there is no half more: the
// second cannot tell a dead first one from a cut cable, and its part ends.
//
// The record. What a successor has to know (wire::JobRecord) goes out with the pings, newest first; who
// stands for coordinator takes the newest that its voters have, and writes it anew in its term. Parts that
// are lost have no vote, but only from when more than half of those that had one know it; until then a
// majority of both is asked for (joint consensus).
//
// After Viewstamped Replication (Liskov, Cowling: "Viewstamped Replication Revisited", 2012) and Raft's
// change of members (Ongaro, Ousterhout: "In Search of an Understandable Consensus Algorithm", 2014, section
// 6).
#pragma once

#include "shared/wire/succession.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dockdist {

class Succession {
public:
    enum class Role {
        member,
        candidate,   // of its own term; it asks for votes
        coordinator, // may_act() says whether it still may
        over         // it has found no coordinator, or was one and has lost the others: its part ends
    };
    // All parts begin with the same policy and attempt.
    Succession(std::size_t own, wire::JobPolicy policy, int attempt, std::int64_t lease_ms,
               std::int64_t now_ms);

    Role role() const { return role_; }
    std::int64_t term() const { return term_; }
    std::size_t coordinator() const { return coordinator_of(term_); }
    // Who carried the job last, as far as is known here; not this part.
    std::size_t former() const { return former_; }
    bool former_resigned() const { return former_resigned_; }
    // No coordinator is heard of: nothing of the job may run here.
    bool is_searching() const { return searching_; }
    bool may_act(std::int64_t now_ms) const;
    // Whether a job goes on without its coordinator at all: it goes on without a lost node, and enough are
    // left.
    bool may_be_succeeded() const;
    const wire::JobRecord& record() const { return record_; }
    // The greatest attempt that this part, or one of its voters, is in.
    int latest_attempt() const;

    // Call it every now and then, at least ten times a lease.
    void tick(std::int64_t now_ms);
    void is_in_attempt(int attempt) { attempt_ = attempt; } // this part

    // A member's side: of the link to coordinator(). No answer: what is at its other end is none of this
    // term, and the link is to be closed.
    std::optional<wire::LinkPong> hear(const wire::LinkPing& ping, std::int64_t now_ms);

    // The other side: a part has dialled this one.
    enum class Answer {
        welcome,
        not_now,
        newer_term, // it is to be told the term; it is behind
        lost        // it is to be told to stop; the job goes on without it
    };
    Answer greet(const wire::LinkGreeting& greeting, std::int64_t now_ms);
    wire::LinkPing ping(std::size_t part, std::int64_t now_ms);
    void hear(std::size_t part, const wire::LinkPong& pong, std::int64_t now_ms);
    void gone(std::size_t part); // it has ended as it was told, and votes for nobody else

    // The coordinator's: what its decisions have made of the job.
    void write(const wire::JobPolicy& policy, int attempt);

private:
    struct Peer {
        std::optional<std::int64_t> acked_ms{}; // when the coordinator's last ping was sent that it answered
        bool voted = false;                     // for this part, in this term
        wire::JobRecord::Version version{};
        int attempt = 0;
        bool gone = false;
    };
    std::size_t coordinator_of(std::int64_t term) const;
    void enter(std::int64_t term, std::int64_t now_ms);
    void enter_next_term(std::int64_t now_ms);
    void search(std::int64_t now_ms);
    void try_to_win(std::int64_t now_ms);
    void settle();
    std::vector<bool> with_me(std::int64_t now_ms) const; // the parts that have answered within the lease
    bool is_newer(const Peer& peer) const { return peer.version > record_.version; }

    std::size_t own_;
    std::int64_t lease_ms_;
    wire::JobRecord record_;
    std::vector<Peer> peers_;
    Role role_;
    std::int64_t term_;
    std::size_t former_;
    bool former_resigned_ = false;
    std::int64_t heard_ms_;   // a coordinator
    std::int64_t entered_ms_; // term_
    bool searching_ = false;
    int attempt_;
};

// More than half of the parts with a vote, or, for a coordinator that has the job already, no less than half;
// where some are leaving, of those before and of those after.
bool is_majority(const wire::JobRecord& record, const std::vector<bool>& parts);
bool is_half(const wire::JobRecord& record, const std::vector<bool>& parts);

} // namespace dockdist
