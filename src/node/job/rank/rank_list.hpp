// The ranks of a job on this node, as their shims report them (node/job/rank/rank_words.hpp).
#pragma once

#include "node/job/log/output_pipes.hpp"
#include "node/job/rank/rank_words.hpp"
#include "node/system/fifo_door.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/job.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dockdist::node {

// Anything may knock that runs as the job's user, as often as it likes: what is kept of it is bounded.
class RankList {
public:
    // `scratch`: where shims make their FIFOs. At most `most` ranks are there at a time.
    RankList(Loop& loop, OutputPipes& outputs, Fd door, const std::string& scratch, std::size_t most);

    // In the order in which the ranks ended; also that one has begun while another one of its number runs, as
    // where every node's launcher starts the whole job.
    std::function<void(wire::JobFailure failure)> on_failed{};
    std::function<void(int rank)> on_done{}; // in the same order: the first that has ended with 0
    std::function<void(const std::string& line)> on_note{}; // why one is not listened to

    int begun() const { return begun_; }
    std::vector<int> numbers() const; // of those that have begun, each once, in order
    // Those that run: their numbers, and their shims, from which their processes descend.
    std::vector<std::pair<std::int32_t, pid_t>> running() const;
    std::vector<int> ended() const; // whose number has begun, and runs no more
    void tell_ends();               // where there are any
    // The first failure is the one that people look at. When one is heard, all that came before it have been
    // sent too, and wait in some other FIFO.
    void hear_all();
    void drain(); // what they have written so far
    void clear(); // for the next attempt

private:
    struct Rank {
        RankBegin begun{};
        bool over = false; // the rank; its shim may stay, for as long as `to` is open
        Fd from{}, to{};   // closed: the shim is gone
        Fd out{}, err{};
    };
    struct Ended {
        RankBegin begun{};
        RankEnd end{};
    };
    void take(Caller caller);
    bool make_room();
    void refuse(const std::string& why);
    void hear(Rank& rank);
    void close(Rank& rank);
    void tell_second();
    const Rank* second() const;

    Loop& loop_;
    OutputPipes& outputs_;
    std::size_t most_;
    FifoDoor door_;
    std::vector<std::unique_ptr<Rank>> ranks_{};
    std::vector<Ended> ended_{}; // not yet told
    std::set<std::int32_t> numbers_{};
    int begun_ = 0;
    bool done_is_told_ = false;
    bool others_begun_ = false; // since that was looked at
    bool refused_ = false;      // and that was said
};

} // namespace dockdist::node
