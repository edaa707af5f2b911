// The way of a member of a detached job to the job's coordinator: an ssh to the coordinator's node, dialled
// again when it breaks. What comes and goes over it is what a client's follower and the supervisor say to
// each other.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/last_words.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

class CoordinatorLink {
public:
    struct Target {
        std::string job{};
        std::string node{};    // the coordinator's
        int part = 0;          // the member's
        std::int64_t term = 0; // shared/wire/succession.hpp
    };
    // `on_dialled` gets this side of each new connection; whoever has it calls ended() when it breaks.
    CoordinatorLink(Loop& loop, Account account, std::function<void(Pipe)> on_dialled);
    ~CoordinatorLink();
    CoordinatorLink(const CoordinatorLink&) = delete;
    CoordinatorLink& operator=(const CoordinatorLink&) = delete;

    void dial(Target target); // from now on
    void hang_up();           // it is not dialled again
    void ended();
    // What ssh said last, to explain a silence.
    const std::string& last_words() const { return last_words_.text(); }

private:
    void dial();

    Loop& loop_;
    Target target_{};
    Account account_;
    std::function<void(Pipe)> on_dialled_;
    LastWords last_words_;
    std::int64_t dialled_at_ms_ = 0;
    std::int64_t pause_ms_ = 0;
    Loop::Timer timer_ = 0;
};

// `dockdist-init job link JOB PART TERM`, at the coordinator's node: carries bytes between its own streams
// and the supervisor there. Where that is gone, the job is over, and it says so.
int run_coordinator_end(const std::string& job, const std::string& part, const std::string& term);

} // namespace dockdist::node
