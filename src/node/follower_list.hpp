// The supervisor's side of its followers: what it tells them, what they ask, and the lease that they hold.
#pragma once

#include "node/loop.hpp"
#include "node/os.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

class FollowerList {
public:
    // `lease_ms` 0: the job needs nobody.
    FollowerList(Loop& loop, Fd listener, std::int64_t lease_ms);

    // `again`: the same follower has asked before. Of two clients that stop a job, the second one must not
    // take the grace that the first one gave.
    std::function<void(std::int64_t grace_ms, bool again)> on_stop{};
    std::function<void()> on_lease_over{};

    // An event for every follower, and for each that comes later.
    void tell(const std::string& event);
    void log_is(std::uint64_t size);            // nudges when it has grown
    void say_goodbye(const std::string& event); // the last one; waits a little for slow readers of the socket

private:
    struct Follower {
        Fd socket{};
        std::string heard{}; // an unfinished line
        std::string unsent{};
        std::int64_t last_heard_ms = 0;
        bool client_gone = false;
        bool has_stopped = false;
    };
    void accept();
    void hear(Follower& follower);
    bool obey(Follower& follower, const std::string& line);
    void send(Follower& follower, const std::string& bytes);
    void drop(Follower& follower);
    void check_lease();

    Loop& loop_;
    Fd listener_;
    std::int64_t lease_ms_;
    std::int64_t unheld_since_ms_;
    std::map<int, std::unique_ptr<Follower>> followers_{};
    std::vector<std::string> told_{};
    std::uint64_t log_size_ = 0;
};

} // namespace dockdist::node
