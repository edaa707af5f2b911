// C-Raft's I/O table, with this node's disk and messages behind it.
//
// C-Raft wants to be told of what it has asked for once the call in which it asked has returned, and is,
// before anything else reaches it: so to it each disk is as fast as can be, and none of its states "written
// in memory, not yet on disk" is ever seen. Once the disk has failed, nothing leaves this voter any more, and
// nothing is told: it begins anew from what is on its disk.
#include "node/book/raft_machine.hpp"
#include "node/book/raft_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist::node {
namespace {

// As long as it lives, this one counts as a voter to itself if it is a member at all.
class SpareVotes {
public:
    SpareVotes(raft_configuration& members, VoterId self) {
        for (unsigned i = 0; i < members.n; ++i) {
            if (members.servers[i].id == self) {
                role_ = &members.servers[i].role;
                was_ = std::exchange(*role_, RAFT_VOTER);
            }
        }
    }
    SpareVotes(const SpareVotes&) = delete;
    SpareVotes& operator=(const SpareVotes&) = delete;
    ~SpareVotes() {
        if (role_ != nullptr) {
            *role_ = was_;
        }
    }

private:
    int* role_ = nullptr;
    int was_ = RAFT_VOTER;
};

} // namespace

void RaftMachine::make_io() {
    using Io = raft_io;
    io_ = {};
    io_.version = 1;
    io_.impl = this;
    io_.init = [](Io*, raft_id, const char*) { return 0; };
    io_.close = [](Io* io, raft_io_close_cb done) {
        auto& self = *static_cast<RaftMachine*>(io->impl);
        while (!self.told_later_.empty()) {
            const auto tell = std::move(self.told_later_.front());
            self.told_later_.pop_front();
            tell(true);
        }
        done(io);
    };
    io_.load = [](Io* io, raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first,
                  raft_entry** entries, std::size_t* count) {
        return static_cast<RaftMachine*>(io->impl)->load(term, vote, snapshot, first, entries, count);
    };
    io_.start = [](Io* io, unsigned, raft_io_tick_cb tick, raft_io_recv_cb receive) {
        static_cast<RaftMachine*>(io->impl)->tick_ = tick;
        static_cast<RaftMachine*>(io->impl)->receive_ = receive;
        return 0;
    };
    io_.set_term = [](Io* io, raft_term term) {
        return static_cast<RaftMachine*>(io->impl)->set_term(term, 0);
    };
    io_.set_vote = [](Io* io, raft_id vote) {
        auto& self = *static_cast<RaftMachine*>(io->impl);
        return self.set_term(self.stored_term_, vote);
    };
    io_.send = [](Io* io, raft_io_send* request, const raft_message* message, raft_io_send_cb done) {
        return static_cast<RaftMachine*>(io->impl)->send(request, *message, done);
    };
    io_.append = [](Io* io, raft_io_append* request, const raft_entry* entries, unsigned count,
                    raft_io_append_cb done) {
        return static_cast<RaftMachine*>(io->impl)->append(request, entries, count, done);
    };
    io_.truncate = [](Io* io, raft_index) { // see cut_contradicted()
        static_cast<RaftMachine*>(io->impl)->fail(
            {.kind = ErrorKind::internal, .message = "the log was to be cut in memory"});
        return RAFT_IOERR;
    };
    io_.snapshot_put = [](Io* io, unsigned trailing, raft_io_snapshot_put* request,
                          const raft_snapshot* snapshot, raft_io_snapshot_put_cb done) {
        return static_cast<RaftMachine*>(io->impl)->put_snapshot(request, *snapshot, trailing, done);
    };
    io_.snapshot_get = [](Io* io, raft_io_snapshot_get* request, raft_io_snapshot_get_cb done) {
        return static_cast<RaftMachine*>(io->impl)->get_snapshot(request, done);
    };
    io_.time = [](Io* io) { return static_cast<raft_time>(static_cast<RaftMachine*>(io->impl)->now_ms_); };
    io_.random = [](Io* io, int least, int most) {
        return static_cast<RaftMachine*>(io->impl)->options_.random(least, most);
    };

    fsm_ = {};
    fsm_.version = 1;
    fsm_.data = this;
    fsm_.apply = [](raft_fsm* fsm, const raft_buffer* command, void** result) {
        *result = nullptr;
        return static_cast<RaftMachine*>(fsm->data)->apply(*command);
    };
    fsm_.snapshot = [](raft_fsm* fsm, raft_buffer** buffers, unsigned* count) {
        return static_cast<RaftMachine*>(fsm->data)->take_snapshot(buffers, count);
    };
    fsm_.restore = [](raft_fsm* fsm, raft_buffer* state) {
        return static_cast<RaftMachine*>(fsm->data)->restore(*state);
    };
}

int RaftMachine::load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first,
                      raft_entry** entries, std::size_t* count) {
    *term = stored_term_ = stored_->term;
    *vote = stored_->vote;
    *snapshot = stored_->snapshot ? raft_snapshot_of(*stored_->snapshot) : nullptr;
    *first = stored_->first_index;
    *count = stored_->entries.size();
    *entries = *count == 0 ? nullptr : static_cast<raft_entry*>(raft_calloc(*count, sizeof(raft_entry)));
    for (std::size_t i = 0; i < *count; ++i) {
        const auto& entry = stored_->entries[i];
        (*entries)[i] = {.term = entry.term,
                         .type = static_cast<unsigned short>(entry.type),
                         .buf = buffer_of(bytes_for_raft(entry)),
                         .batch = nullptr};
    }
    restoring_index_ = snapshot_index_;
    stored_.reset();
    return 0;
}

int RaftMachine::set_term(std::uint64_t term, VoterId vote) {
    if (!failed_) {
        if (const auto written = disk_.set_term(term, vote); !written) {
            fail(written.error());
        }
        stored_term_ = term;
    }
    return 0;
}

int RaftMachine::send(raft_io_send* request, const raft_message& message, raft_io_send_cb done) {
    told_later_.emplace_back([request, done](bool) {
        if (done != nullptr) {
            done(request, 0);
        }
    });
    if (failed_) {
        return 0;
    }
    Message out;
    switch (message.type) {
    case RAFT_IO_APPEND_ENTRIES: {
        const auto& said = message.append_entries;
        AppendEntries append{.term = said.term,
                             .before_index = said.prev_log_index,
                             .before_term = said.prev_log_term,
                             .committed = said.leader_commit};
        for (unsigned i = 0; i < said.n_entries; ++i) {
            append.entries.push_back(entry_of(said.entries[i]));
        }
        out = std::move(append);
        break;
    }
    case RAFT_IO_APPEND_ENTRIES_RESULT: {
        // C-Raft says that all which is there fits (canonical/raft up to 0.18; cowsql/raft 0.20 has mended
        // it).
        const auto& said = message.append_entries_result;
        out = AppendResult{.term = said.term,
                           .rejected = said.rejected,
                           .last_index = said.rejected == 0
                                             ? std::min<std::uint64_t>(said.last_log_index, verified_index_)
                                             : said.last_log_index};
        break;
    }
    case RAFT_IO_REQUEST_VOTE: {
        const auto& said = message.request_vote;
        out = RequestVote{.term = said.term,
                          .last_index = said.last_log_index,
                          .last_term = said.last_log_term,
                          .trial = said.pre_vote};
        break;
    }
    case RAFT_IO_REQUEST_VOTE_RESULT: {
        const auto& said = message.request_vote_result;
        out = VoteResult{
            .term = said.term, .granted = said.vote_granted, .trial = said.pre_vote == raft_tribool_true};
        break;
    }
    case RAFT_IO_INSTALL_SNAPSHOT: {
        const auto& said = message.install_snapshot;
        out = InstallSnapshot{.term = said.term,
                              .snapshot = {.index = said.last_index,
                                           .term = said.last_term,
                                           .members_index = said.conf_index,
                                           .members = members_of(said.conf),
                                           .state = std::string(view_of(said.data))}};
        break;
    }
    default:
        return 0;
    }
    send_(message.server_id, to_bytes(out));
    return 0;
}

int RaftMachine::append(raft_io_append* request, const raft_entry* entries, unsigned count,
                        raft_io_append_cb done) {
    std::vector<LogEntry> copies;
    for (unsigned i = 0; i < count; ++i) {
        copies.push_back(entry_of(entries[i]));
        slots_.push_back({copies.back().term, copies.back().type, copies.back().bytes.size()});
        log_bytes_ += slots_.back().bytes;
    }
    if (!failed_) {
        if (const auto written = disk_.append(copies); !written) {
            fail(written.error());
        }
    }
    set_snapshot_threshold();
    told_later_.emplace_back([request, done](bool) { done(request, 0); });
    return 0;
}

int RaftMachine::put_snapshot(raft_io_snapshot_put* request, const raft_snapshot& snapshot, unsigned trailing,
                              raft_io_snapshot_put_cb done) {
    if (failed_) {
        return RAFT_BUSY;
    }
    const bool own = raft_.snapshot.pending.term != 0; // else a leader's, in the place of the whole log
    std::optional<std::uint64_t> first_kept;
    if (own) {
        const auto behind = snapshot.index > trailing ? snapshot.index - trailing + 1 : 1;
        first_kept = std::max<std::uint64_t>(first_index_, behind);
    }
    if (const auto written = disk_.put_snapshot(snapshot_of(snapshot), first_kept); !written) {
        fail(written.error());
        return RAFT_BUSY;
    }
    snapshot_index_ = snapshot.index;
    snapshot_term_ = snapshot.term;
    keep_slots_from(first_kept);
    restoring_index_ = snapshot.index;
    auto* buffers = snapshot.bufs;
    told_later_.emplace_back([request, done, own, buffers](bool closing) {
        done(request, closing ? RAFT_CANCELED : 0);
        if (closing && !own) {
            raft_free(buffers); // which C-Raft forgets
        }
    });
    return 0;
}

int RaftMachine::get_snapshot(raft_io_snapshot_get* request, raft_io_snapshot_get_cb done) {
    told_later_.emplace_back([this, request, done](bool closing) {
        auto snapshot = closing || failed_ ? Result<Snapshot>(Error{}) : disk_.get_snapshot();
        if (!snapshot && !closing && !failed_) {
            fail(snapshot.error());
        }
        done(request, snapshot ? raft_snapshot_of(*snapshot) : nullptr, snapshot ? 0 : RAFT_CANCELED);
    });
    return 0;
}

int RaftMachine::apply(const raft_buffer& command) {
    const std::uint64_t index = raft_.last_applied + 1;
    Applied applied;
    if (index > records_.applied()) { // else this voter was opened anew, and has applied it before
        if (const auto change = parse_record_change(view_of(command))) {
            applied = records_.apply(*change, index);
            if (applied.outcome == Applied::Outcome::accepted) {
                answers_.emplace_back([this, name = change->name] { changed_(name); });
            }
        }
    }
    if (!in_flight_.empty() && index == in_flight_index_) {
        constexpr std::array outcomes{Answer::Outcome::accepted, Answer::Outcome::conflict,
                                      Answer::Outcome::full};
        answer(std::move(in_flight_.front()),
               {.outcome = outcomes.at(static_cast<std::size_t>(applied.outcome)),
                .version = applied.version,
                .leader = options_.self});
        in_flight_.pop_front();
        ++in_flight_index_;
    }
    return 0;
}

int RaftMachine::take_snapshot(raft_buffer** buffers, unsigned* count) {
    // C-Raft would put the members of the log's end into it (canonical/raft 0.17.1 has mended that), and an
    // opened voter's records may be ahead of what it has applied again.
    if (failed_ || members_unsettled() || records_.applied() > raft_.last_applied) {
        return RAFT_BUSY;
    }
    *buffers = static_cast<raft_buffer*>(raft_malloc(sizeof(raft_buffer)));
    **buffers = buffer_of(records_.save());
    *count = 1;
    return 0;
}

int RaftMachine::restore(raft_buffer& state) {
    if (restoring_index_ > records_.applied()) {
        if (const auto restored = records_.restore(view_of(state), restoring_index_); !restored) {
            fail(restored.error());
            return RAFT_MALFORMED;
        }
        answers_.emplace_back([this] { changed_(""); });
    }
    raft_free(state.base);
    return 0;
}

void RaftMachine::deliver(VoterId from, const Message& message) {
    const auto address = std::to_string(from);
    raft_message in{};
    in.server_id = from;
    in.server_address = address.c_str();
    if (const auto* append = std::get_if<AppendEntries>(&message)) {
        in.type = RAFT_IO_APPEND_ENTRIES;
        auto& to = in.append_entries;
        to.term = append->term;
        to.prev_log_index = append->before_index;
        to.prev_log_term = append->before_term;
        to.leader_commit = std::min(append->committed, append->before_index + append->entries.size());
        to.n_entries = static_cast<unsigned>(append->entries.size());
        to.entries = entries_for_raft(append->entries);
        verified_index_ = append->before_index + append->entries.size();
    } else if (const auto* result = std::get_if<AppendResult>(&message)) {
        in.type = RAFT_IO_APPEND_ENTRIES_RESULT;
        in.append_entries_result = {
            .term = result->term, .rejected = result->rejected, .last_log_index = result->last_index};
    } else if (const auto* request = std::get_if<RequestVote>(&message)) {
        in.type = RAFT_IO_REQUEST_VOTE;
        in.request_vote = {.term = request->term,
                           .candidate_id = from,
                           .last_log_index = request->last_index,
                           .last_log_term = request->last_term,
                           .disrupt_leader = false,
                           .pre_vote = request->trial};
        // A spare that was made a voter by an entry which has not reached it is needed, and would refuse.
        const SpareVotes votes(raft_.configuration, options_.self);
        receive_(&io_, &in);
        return;
    } else if (const auto* vote = std::get_if<VoteResult>(&message)) {
        in.type = RAFT_IO_REQUEST_VOTE_RESULT;
        in.request_vote_result = {
            .term = vote->term, .vote_granted = vote->granted, .pre_vote = TO_RAFT_TRIBOOL(vote->trial)};
    } else if (const auto* install = std::get_if<InstallSnapshot>(&message)) {
        in.type = RAFT_IO_INSTALL_SNAPSHOT;
        const auto& snapshot = install->snapshot;
        in.install_snapshot = {.term = install->term,
                               .last_index = snapshot.index,
                               .last_term = snapshot.term,
                               .conf = configuration_of(snapshot.members),
                               .conf_index = snapshot.members_index,
                               .data = buffer_of(snapshot.state)};
        verified_index_ = snapshot.index;
    }
    receive_(&io_, &in);
}

} // namespace dockdist::node
