// What a Voter is inside: a `struct raft`, what it is driven by, and what keeps it safe.
//
//   raft_machine.cpp  drives it: time, proposals, changes of members
//   raft_guard.cpp    looks at what others say before it does
//   raft_io.cpp       what it calls: disk, network, records
#pragma once

#include "node/book/message.hpp"
#include "node/book/voter.hpp"

#include <deque>

extern "C" {
#include <raft.h>
}

namespace dockdist::node {

inline constexpr unsigned most_log_entries = 1024; // behind a snapshot
inline constexpr unsigned kept_entries = 16;       // before it, for who is a little behind

class RaftMachine {
public:
    RaftMachine(VoterOptions options, Disk& disk, Voter::Send send, Voter::Changed changed);
    RaftMachine(const RaftMachine&) = delete;
    RaftMachine& operator=(const RaftMachine&) = delete;
    ~RaftMachine() { close(); }

    Status open(std::int64_t now_ms);
    void tick(std::int64_t now_ms);
    void receive(VoterId from, Message message, std::int64_t now_ms);
    void propose(RecordChange change, Answered answered);
    enum class Change { add, promote, remove };
    void change_members(Change change, VoterId id, Answered answered);
    void step_down();

    const Records& records() const { return records_; }
    Members members() const;
    bool leads() const { return open_ && raft_.state == RAFT_LEADER && ready_; }
    VoterId leader() const;
    std::uint64_t term() const { return open_ ? raft_.current_term : 0; }
    std::uint64_t committed() const { return open_ ? raft_.last_applied : 0; }
    const std::optional<Error>& failed() const { return failed_; }

private:
    // Of an entry that stands in the log, what is asked of it here.
    struct Slot {
        std::uint64_t term = 0;
        EntryType type = EntryType::command;
        std::size_t bytes = 0;
    };
    struct Proposal {
        std::string bytes{};
        Answered answered{};
    };

    // raft_io.cpp: what C-Raft calls.
    void make_io();
    int load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first,
             raft_entry** entries, std::size_t* count);
    int set_term(std::uint64_t term, VoterId vote);
    int send(raft_io_send* request, const raft_message& message, raft_io_send_cb done);
    int append(raft_io_append* request, const raft_entry* entries, unsigned count, raft_io_append_cb done);
    int put_snapshot(raft_io_snapshot_put* request, const raft_snapshot& snapshot, unsigned trailing,
                     raft_io_snapshot_put_cb done);
    int get_snapshot(raft_io_snapshot_get* request, raft_io_snapshot_get_cb done);
    int apply(const raft_buffer& command);
    int take_snapshot(raft_buffer** buffers, unsigned* count);
    int restore(raft_buffer& state);
    void deliver(VoterId from, const Message& message);
    void count_log_bytes();
    void set_snapshot_threshold();
    void keep_slots_from(std::optional<std::uint64_t> first);

    Status start();
    void close();
    void fail(const Error& why);
    void settle();
    void begin_term();
    void submit();
    void give_up_proposals();
    void answer(Answered answered, const Answer& answer);
    bool step();
    bool cut_contradicted(std::uint64_t from_index);
    std::uint64_t contradicted(const AppendEntries& message) const;
    // Whether C-Raft is to see it; some of it is changed before.
    bool is_sound(AppendEntries& message, VoterId from);
    bool is_sound(InstallSnapshot& message, VoterId from);
    bool is_sound(RequestVote& message, VoterId from);
    bool is_sound(const auto&, VoterId) const { return true; }
    bool is_sound(AppendResult& message, VoterId from) const;
    std::uint64_t term_at(std::uint64_t index) const;
    std::uint64_t last_index() const { return first_index_ + slots_.size() - 1; }
    bool members_unsettled() const;

    VoterOptions options_;
    Disk& disk_;
    Voter::Send send_;
    Voter::Changed changed_;
    raft raft_{};
    raft_io io_{};
    raft_fsm fsm_{};
    raft_io_tick_cb tick_ = nullptr;
    raft_io_recv_cb receive_ = nullptr;
    std::string address_;
    std::int64_t now_ms_ = 0, opened_ms_ = 0, rests_until_ms_ = 0;
    bool open_ = false, settling_ = false;
    std::optional<Error> failed_{};
    // What C-Raft is told once its call has returned; whether that is so that it ends.
    std::deque<std::function<void(bool closing)>> told_later_{};
    std::deque<std::function<void()>> answers_{};

    std::optional<Stored> stored_{}; // what load() is about to give
    std::deque<Slot> slots_{};       // the log as it is on the disk
    std::uint64_t first_index_ = 1, snapshot_index_ = 0, snapshot_term_ = 0;
    std::size_t log_bytes_ = 0;
    std::uint64_t stored_term_ = 0;
    std::uint64_t restoring_index_ = 0; // of the snapshot that restore() is about to be given
    std::uint64_t verified_index_ = 0;  // up to which the message under way says what the log is
    Records records_{};

    std::uint64_t begun_term_ = 0; // in which this one leads, and has a barrier in the log
    bool ready_ = false;           // which is committed
    struct raft_barrier barrier_{};
    struct raft_apply apply_{};
    struct raft_change change_{};
    std::optional<Answered> changing_{};
    std::deque<Proposal> waiting_{};
    std::deque<Answered> in_flight_{};  // one batch at a time
    std::uint64_t in_flight_index_ = 0; // of the first of them
};

} // namespace dockdist::node
