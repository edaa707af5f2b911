// The supervisor's side of its followers: what it tells them, what they order, and the lease that they hold.
// Followers are the clients', and on a member of a detached job the link to the coordinator.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "wire/job.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

class FollowerList {
public:
    FollowerList(Loop& loop, Fd listener, std::int64_t lease_ms);

    // Anything but a ping. `again`: the same follower has told to stop before. Of two clients that stop a
    // job, the second one must not take the grace that the first one gave.
    std::function<void(const wire::JobCommand&, bool again)> on_order{};
    std::function<void()> on_lease_over{};

    // The other end is the coordinator: it gets the events and pings, but is not told of the log.
    void add_link(Fd socket, std::function<void()> on_end);
    // From now on clients hold nothing: the link does, or nobody has to.
    enum class Holder { link, nobody };
    void held_by(Holder holder);

    // An event for every follower, and for each that comes later.
    void tell(const std::string& event);
    void forget_told() { told_.clear(); }
    void answer(const std::string& event);      // to whoever has just ordered something
    void log_is(std::uint64_t size);            // nudges when it has grown
    void say_goodbye(const std::string& event); // the last one; waits a little for slow readers of the socket

private:
    struct Follower {
        Fd socket{};
        std::string heard{}; // an unfinished line
        std::string unsent{};
        std::int64_t last_heard_ms = 0;
        bool client_gone = false;
        bool is_link = false;
        bool has_stopped = false;
        std::function<void()> on_end{};
    };
    void accept();
    Follower& add(Fd socket);
    void hear(Follower& follower);
    bool obey(Follower& follower, const std::string& line);
    void send(Follower& follower, const std::string& bytes);
    void drop(Follower& follower);
    void check_lease();

    Loop& loop_;
    Fd listener_;
    std::int64_t lease_ms_;
    bool by_link_ = false; // not by clients
    std::int64_t unheld_since_ms_;
    std::map<int, std::unique_ptr<Follower>> followers_{};
    int ordering_ = -1; // the follower whose order is obeyed now
    std::vector<std::string> told_{};
    std::uint64_t log_size_ = 0;
};

} // namespace dockdist::node
