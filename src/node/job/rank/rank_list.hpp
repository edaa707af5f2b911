// The ranks of a job on this node, as their shims report them (node/job/rank/rank_channel.hpp).
#pragma once

#include "node/job/log/output_pipes.hpp"
#include "node/job/rank/rank_channel.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "wire/job.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dockdist::node {

class RankList {
public:
    // Shims of root and of `user` are heard, no others. `listener` does not block.
    RankList(Loop& loop, OutputPipes& outputs, int listener, uid_t user);

    // In the order in which the ranks ended; also that one has begun while another one of its number runs, as
    // where every node's launcher starts the whole job.
    std::function<void(wire::JobFailure failure)> on_failed{};

    int begun() const { return begun_; }
    std::vector<int> numbers() const; // of those that have begun, each once, in order
    // Those that run: their numbers, and their shims, from which their processes descend.
    std::vector<std::pair<std::int32_t, pid_t>> running() const;
    void tell_failures(); // where there are any
    // The first failure is the one that people look at. When one is heard, all that came before it have been
    // sent too, and wait in some other socket.
    void hear_all();
    void drain(); // what they have written so far
    void clear(); // for the next attempt

private:
    struct Rank {
        Fd socket{}; // closed: the shim is gone
        bool over = false;
        pid_t shim = 0;
        RankMessage begun{};
        Fd out{}, err{};
    };
    // All that have connected: a rank may have come, written and gone before the loop gets to it.
    void accept_waiting();
    void hear(Rank& rank);
    void tell_second();
    const Rank* second() const;

    Loop& loop_;
    OutputPipes& outputs_;
    int listener_;
    uid_t user_;
    std::vector<std::unique_ptr<Rank>> ranks_{};
    std::vector<RankMessage> failed_{}; // not yet told
    int begun_ = 0;
    bool others_begun_ = false; // since that was looked at
};

} // namespace dockdist::node
