// The way of a member of a detached job to the job's keeper: an ssh to the keeper's node, dialled again when
// it breaks. What comes and goes over it is what a client's follower and the supervisor say to each other.
#pragma once

#include "node/accounts.hpp"
#include "node/loop.hpp"
#include "node/os.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

class KeeperLink {
public:
    struct Target {
        std::string job{};
        std::string node{}; // the keeper's
        int part = 0;       // the member's
    };
    // `on_dialled` gets this end of each new connection; whoever has it calls ended() when it breaks.
    KeeperLink(Loop& loop, Target target, Account account, std::function<void(Fd)> on_dialled);
    ~KeeperLink();
    KeeperLink(const KeeperLink&) = delete;
    KeeperLink& operator=(const KeeperLink&) = delete;

    void dial();
    void ended();
    // What ssh said last, to explain a silence.
    const std::string& last_words() const { return last_words_; }

private:
    Loop& loop_;
    Target target_;
    Account account_;
    std::function<void(Fd)> on_dialled_;
    Fd errors_{};
    std::string last_words_{};
    std::int64_t dialled_at_ms_ = 0;
    std::int64_t pause_ms_ = 0;
    Loop::Timer timer_ = 0;
};

// `dockdist-init job link JOB PART`, at the keeper's node: carries bytes between its own streams and the
// keeper. Where the keeper is gone, the job is over, and it says so.
int run_keeper_end(const std::string& job, const std::string& part);

} // namespace dockdist::node
