#include "node/book/raft_machine.hpp"

#include "node/book/raft_words.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

constexpr std::size_t most_proposals = 4096;
constexpr std::size_t most_in_batch = 64;
constexpr std::size_t most_batch_bytes = 4U << 20U;
constexpr unsigned election_rounds_of_a_snapshot = 15; // so long one may take to arrive
constexpr std::size_t most_voters = 5;

} // namespace

RaftMachine::RaftMachine(VoterOptions options, Disk& disk, Voter::Send send, Voter::Changed changed)
    : options_(std::move(options)), disk_(disk), send_(std::move(send)), changed_(std::move(changed)),
      address_(std::to_string(options_.self)) {
    change_.data = barrier_.data = this;
}

Status RaftMachine::open(std::int64_t now_ms) {
    now_ms_ = now_ms;
    auto started = start();
    settle();
    return failed_ ? Status(*failed_) : started;
}

Status RaftMachine::start() {
    close();
    opened_ms_ = now_ms_;
    failed_.reset();
    auto stored = disk_.load();
    if (!stored) {
        failed_ = stored.error();
        return stored.error();
    }
    slots_.clear();
    for (const auto& entry : stored->entries) {
        slots_.push_back({entry.term, entry.type, entry.bytes.size()});
    }
    first_index_ = stored->first_index;
    snapshot_index_ = stored->snapshot ? stored->snapshot->index : 0;
    snapshot_term_ = stored->snapshot ? stored->snapshot->term : 0;
    stored_ = std::move(*stored);

    make_io();
    raft_ = {};
    raft_init(&raft_, &io_, &fsm_, options_.self, address_.c_str());
    raft_set_pre_vote(&raft_, true);
    raft_set_election_timeout(&raft_, options_.election_ms);
    raft_set_heartbeat_timeout(&raft_, options_.heartbeat_ms);
    raft_set_install_snapshot_timeout(&raft_, election_rounds_of_a_snapshot * options_.election_ms);
    raft_set_max_catch_up_round_duration(&raft_, election_rounds_of_a_snapshot * options_.election_ms);
    count_log_bytes();
    raft_set_snapshot_trailing(&raft_, kept_entries);
    open_ = true;
    if (raft_start(&raft_) != 0) {
        fail({.kind = ErrorKind::internal, .message = std::string("cannot start: ") + raft_.errmsg});
    }
    return ok;
}

void RaftMachine::close() {
    if (open_) {
        raft_close(&raft_, nullptr); // ours are told at once, by io_.close
        open_ = false;
        begun_term_ = 0;
        ready_ = false;
        give_up_proposals();
    }
}

void RaftMachine::fail(const Error& why) {
    if (!failed_) {
        failed_ = why;
    }
}

void RaftMachine::tick(std::int64_t now_ms) {
    now_ms_ = now_ms;
    if (open_) {
        if (now_ms_ >= rests_until_ms_) {
            tick_(&io_);
        }
    } else if (failed_ && now_ms_ - opened_ms_ >= options_.election_ms) {
        (void)start();
    }
    settle();
}

// And does not stand for the next few elections: it follows and votes without a clock.
void RaftMachine::step_down() {
    if (open_ && raft_.state == RAFT_LEADER) {
        rests_until_ms_ = now_ms_ + std::int64_t{4} * options_.election_ms;
        (void)start();
        settle();
    }
}

void RaftMachine::settle() {
    if (settling_) {
        return;
    }
    settling_ = true;
    while (true) {
        if (step()) {
            continue;
        }
        if (answers_.empty()) {
            break;
        }
        const auto tell = std::move(answers_.front());
        answers_.pop_front();
        tell();
    }
    settling_ = false;
}

// Whether there was something to do.
bool RaftMachine::step() {
    if (!open_) {
        return false;
    }
    if (failed_) {
        close();
        return true;
    }
    if (!told_later_.empty()) {
        const auto tell = std::move(told_later_.front());
        told_later_.pop_front();
        tell(false);
        return true;
    }
    if (raft_.state == RAFT_UNAVAILABLE) {
        fail({.kind = ErrorKind::internal, .message = std::string("C-Raft has stopped: ") + raft_.errmsg});
        return true;
    }
    if (raft_.state != RAFT_LEADER) {
        begun_term_ = 0;
        ready_ = false;
        give_up_proposals();
        return false;
    }
    if (begun_term_ != raft_.current_term) {
        begin_term();
        return true;
    }
    if (ready_ && in_flight_.empty() && !waiting_.empty()) {
        submit();
        return true;
    }
    return false;
}

// C-Raft 0.15 takes entries of former terms for committed once a majority has them, which they may not be
// (Raft, 5.4.2; canonical/raft 0.17.1 has mended it). It looks at the last entry alone: so one of this term
// stands there before the first answer comes. And it makes an only voter the leader of a term that has had
// one.
void RaftMachine::begin_term() {
    const auto voters = members();
    if (std::ranges::count(voters, true, &Member::votes) == 1) {
        set_term(raft_.current_term + 1, options_.self);
        raft_.current_term = stored_term_;
        raft_.voted_for = options_.self;
    }
    begun_term_ = raft_.current_term;
    ready_ = false;
    raft_barrier(&raft_, &barrier_, [](struct raft_barrier* request, int status) {
        static_cast<RaftMachine*>(request->data)->ready_ = status == 0;
    });
}

// One batch at a time: C-Raft 0.15 sees that something is committed only when all is (canonical/raft 0.17.1
// has mended it), so a steady stream would be answered at its end.
void RaftMachine::submit() {
    std::vector<raft_buffer> buffers;
    std::size_t bytes = 0;
    in_flight_index_ = last_index() + 1;
    while (!waiting_.empty() && in_flight_.size() < most_in_batch &&
           (buffers.empty() || bytes + waiting_.front().bytes.size() <= most_batch_bytes)) {
        auto& proposal = waiting_.front();
        buffers.push_back(buffer_of(proposal.bytes));
        bytes += proposal.bytes.size();
        in_flight_.push_back(std::move(proposal.answered));
        waiting_.pop_front();
    }
    raft_apply(&raft_, &apply_, buffers.data(), static_cast<unsigned>(buffers.size()), nullptr);
}

void RaftMachine::answer(Answered answered, const Answer& answer) {
    answers_.emplace_back([answered = std::move(answered), answer] { answered(answer); });
}

// For want of leadership: of those that stand in the log nobody knows what becomes of them.
void RaftMachine::give_up_proposals() {
    for (auto& answered : in_flight_) {
        answer(std::move(answered), {.outcome = Answer::Outcome::unknown, .leader = leader()});
    }
    for (auto& proposal : waiting_) {
        answer(std::move(proposal.answered), {.outcome = Answer::Outcome::not_leader, .leader = leader()});
    }
    in_flight_.clear();
    waiting_.clear();
}

void RaftMachine::propose(RecordChange change, Answered answered) {
    Answer refusal{.leader = leader()};
    auto bytes = to_bytes(change);
    if (!open_ || raft_.state != RAFT_LEADER) {
        refusal.outcome = Answer::Outcome::not_leader;
    } else if (!parse_record_change(bytes)) {
        refusal.outcome = Answer::Outcome::refused;
        refusal.why = "a record has a name of " + std::to_string(longest_record_name) + " bytes and " +
                      std::to_string(most_record_bytes) + " bytes at most";
    } else if (waiting_.size() >= most_proposals) {
        refusal.outcome = Answer::Outcome::refused;
        refusal.why = "too many changes wait";
    } else {
        waiting_.push_back({.bytes = std::move(bytes), .answered = std::move(answered)});
        settle();
        return;
    }
    answer(std::move(answered), refusal);
    settle();
}

void RaftMachine::change_members(Change change, VoterId id, Answered answered) {
    const auto now = members();
    const auto voters = static_cast<std::size_t>(std::ranges::count(now, true, &Member::votes));
    const auto found = std::ranges::find(now, id, &Member::id);
    const auto refuse = [&](Answer::Outcome outcome, std::string why) {
        answer(std::move(answered), {.outcome = outcome, .leader = leader(), .why = std::move(why)});
    };
    if (!leads()) {
        refuse(Answer::Outcome::not_leader, "");
    } else if (changing_ || members_unsettled()) {
        refuse(Answer::Outcome::refused, "another change of members is under way");
    } else if (id == 0 || (change == Change::add) != (found == now.end())) {
        refuse(Answer::Outcome::refused, change == Change::add ? "it is a member" : "it is no member");
    } else if (change == Change::add ? now.size() >= most_members
                                     : change == Change::promote && (found->votes || voters >= most_voters)) {
        refuse(Answer::Outcome::refused, "there are as many as there may be, or it votes");
    } else if (change == Change::remove && id == options_.self) {
        refuse(Answer::Outcome::refused, "it leads");
    } else {
        const auto done = [](struct raft_change* request, int status) {
            auto& self = *static_cast<RaftMachine*>(request->data);
            self.answer(std::move(*self.changing_),
                        {.outcome = status == 0 ? Answer::Outcome::accepted : Answer::Outcome::unknown,
                         .leader = self.leader()});
            self.changing_.reset();
        };
        changing_ = std::move(answered);
        const int status = change == Change::add
                               ? raft_add(&raft_, &change_, id, std::to_string(id).c_str(), done)
                           : change == Change::promote ? raft_assign(&raft_, &change_, id, RAFT_VOTER, done)
                                                       : raft_remove(&raft_, &change_, id, done);
        if (status != 0 && changing_) {
            answer(std::move(*changing_),
                   {.outcome = Answer::Outcome::refused, .leader = leader(), .why = raft_strerror(status)});
            changing_.reset();
        }
    }
    settle();
}

void RaftMachine::keep_slots_from(std::optional<std::uint64_t> first) {
    const auto kept = first.value_or(snapshot_index_ + 1);
    while (!slots_.empty() && (first_index_ < kept || !first)) {
        slots_.pop_front();
        ++first_index_;
    }
    first_index_ = kept;
    count_log_bytes();
}

// Those behind the snapshot; too many, and the next entry that is applied makes one.
void RaftMachine::count_log_bytes() {
    log_bytes_ = 0;
    for (auto index = std::max(first_index_, snapshot_index_ + 1); index <= last_index(); ++index) {
        log_bytes_ += slots_[index - first_index_].bytes;
    }
    set_snapshot_threshold();
}

void RaftMachine::set_snapshot_threshold() {
    raft_set_snapshot_threshold(&raft_, log_bytes_ > options_.log_bytes ? 1 : most_log_entries);
}

bool RaftMachine::members_unsettled() const {
    for (auto index = std::max<std::uint64_t>(first_index_, raft_.last_applied + 1); index <= last_index();
         ++index) {
        if (slots_[index - first_index_].type == EntryType::members) {
            return true;
        }
    }
    return false;
}

Members RaftMachine::members() const {
    return open_ ? members_of(raft_.configuration) : Members{};
}

VoterId RaftMachine::leader() const {
    if (!open_) {
        return 0;
    }
    return raft_.state == RAFT_LEADER     ? options_.self
           : raft_.state == RAFT_FOLLOWER ? raft_.follower_state.current_leader.id
                                          : 0;
}

} // namespace dockdist::node
