// What another voter says is looked at before C-Raft sees it: some of it would make 0.15 forget what it must
// not, and some that only a liar says would make it go wrong.
#include "node/book/raft_machine.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

constexpr unsigned short sending_snapshot = 2; // C-Raft's PROGRESS__SNAPSHOT
// No term or index comes near it by itself: who says it wants that the next one cannot be said any more.
constexpr auto most_believed = std::uint64_t{1} << 60U;

} // namespace

void RaftMachine::receive(VoterId from, Message message, std::int64_t now_ms) {
    now_ms_ = now_ms;
    if (!open_ || from == 0 || from == options_.self) {
        return;
    }
    if (std::visit([&](auto& said) { return said.term <= most_believed && is_sound(said, from); }, message) &&
        open_) {
        deliver(from, message);
    }
    settle();
}

bool RaftMachine::is_sound(AppendEntries& message, VoterId) {
    if (message.term < raft_.current_term) {
        return true; // and answered with the newer term
    }
    if (raft_.state == RAFT_LEADER && message.term == raft_.current_term) {
        return false; // a term has one leader
    }
    // What the snapshot stands for was committed, so whoever leads has it: C-Raft would go back and back for
    // where the logs are the same, and not find it.
    if (message.before_index < snapshot_index_ && term_at(message.before_index) == 0) {
        const auto known =
            std::min<std::uint64_t>(message.entries.size(), snapshot_index_ - message.before_index);
        message.entries.erase(message.entries.begin(),
                              message.entries.begin() + static_cast<std::ptrdiff_t>(known));
        message.before_index = snapshot_index_;
        message.before_term = snapshot_term_;
    }
    const auto before_term = term_at(message.before_index);
    if (message.before_index <= raft_.commit_index && before_term != 0 &&
        before_term != message.before_term) {
        return false; // what was committed is no leader's to change
    }
    const auto cut = contradicted(message);
    return cut == 0 || cut_contradicted(cut);
}

bool RaftMachine::is_sound(InstallSnapshot& message, VoterId) {
    if (message.term < raft_.current_term) {
        return true;
    }
    if (raft_.state == RAFT_LEADER && message.term == raft_.current_term) {
        return false;
    }
    if (message.snapshot.index > most_believed ||
        !Records().restore(message.snapshot.state, message.snapshot.index)) {
        return false;
    }
    // C-Raft would take an entry of a later term for one that the leader has (cowsql/raft 0.20 has mended
    // it).
    const auto term = term_at(message.snapshot.index);
    return term == 0 || term == message.snapshot.term || cut_contradicted(message.snapshot.index);
}

// While a snapshot is on its way to it, a follower refuses all that is behind: that is no reason to send
// another one (cowsql/raft 0.20 has mended it). It is alive.
bool RaftMachine::is_sound(AppendResult& message, VoterId from) const {
    if (raft_.state == RAFT_LEADER && message.rejected != 0) {
        const auto& servers = raft_.configuration;
        for (unsigned i = 0; i < servers.n; ++i) {
            if (servers.servers[i].id == from && raft_.leader_state.progress[i].state == sending_snapshot) {
                message.rejected = message.last_index = 0;
            }
        }
    }
    return true;
}

// C-Raft has a follower believe in its leader until it stands for election itself, which a spare never does.
// Who asks for votes does not lead; and one of whom nothing was heard for so long counts no more (Raft's
// dissertation, 4.2.3).
bool RaftMachine::is_sound(RequestVote&, VoterId from) {
    if (raft_.state == RAFT_FOLLOWER &&
        (raft_.follower_state.current_leader.id == from ||
         static_cast<raft_time>(now_ms_) - raft_.election_timer_start >= options_.election_ms)) {
        raft_.follower_state.current_leader.id = 0;
    }
    return true;
}

// The index from which on the log is another one than the leader's; 0: it is not, as far as that is known.
std::uint64_t RaftMachine::contradicted(const AppendEntries& message) const {
    if (message.before_index != 0 && term_at(message.before_index) != message.before_term) {
        return 0; // and refused
    }
    auto index = message.before_index;
    for (const auto& entry : message.entries) {
        const auto term = term_at(++index);
        if (term != 0 && term != entry.term) {
            return index;
        }
    }
    return 0;
}

// On the disk, and then from there: C-Raft 0.15 forgets who was a member before what is cut, once the log has
// been read or is behind a snapshot (canonical/raft 0.17.1 has mended it). False: what is to be cut was
// committed, and whoever wants that is no leader.
bool RaftMachine::cut_contradicted(std::uint64_t from_index) {
    if (from_index <= raft_.commit_index) {
        return false;
    }
    close();
    if (const auto cut = disk_.truncate(from_index); !cut) {
        opened_ms_ = now_ms_;
        failed_ = cut.error();
        return false;
    }
    return start().has_value() && raft_.state != RAFT_LEADER;
}

std::uint64_t RaftMachine::term_at(std::uint64_t index) const {
    if (index >= first_index_ && index <= last_index()) {
        return slots_[index - first_index_].term;
    }
    return index == snapshot_index_ ? snapshot_term_ : 0;
}

} // namespace dockdist::node
