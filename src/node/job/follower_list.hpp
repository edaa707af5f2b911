// The supervisor's side of its followers: what it tells them, what they order, and the lease that they hold.
// Followers are the clients', and on a member of a detached job the link to the coordinator.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

    // The way to the coordinator of a detached job: what is at its other end gets the events, but is not told
    // of the log. Of two the new one counts.
    struct Link {
        // The answer to a ping; nothing: it is none of ours, and the link is closed.
        std::function<std::optional<std::string>(const std::string& line)> on_ping{};
        // Orders count from the first ping that was answered.
        bool pings_first = false;
        std::function<void()> on_end{}; // it has broken, or was closed for its ping
    };
    void add_link(Pipe ends, Link link); // neither of which blocks
    void drop_link();                    // without on_end
    // From now on clients hold nothing.
    void need_no_client();

    // An event for every follower, and for each that comes later; to these in place of others of its kind,
    // where it has one.
    void tell(const std::string& event, const std::string& kind = {});
    void forget_told() { told_.clear(); }
    void answer(const std::string& event); // to whoever has just ordered something
    // The same later, for as long as that one is there.
    std::function<void(const std::string& event)> later_answer();
    void log_is(std::uint64_t size);            // nudges when it has grown
    void say_goodbye(const std::string& event); // the last one; waits a little for slow readers of the socket

private:
    struct Follower {
        std::uint64_t id = 0;
        Fd socket{};         // of a link, the pipe that is read
        Fd other{};          // of a link, the one that is written
        std::string heard{}; // an unfinished line
        std::string unsent{};
        std::int64_t last_heard_ms = 0;
        bool has_stopped = false;
        std::optional<Link> link{};
        bool may_order = true;
    };
    void accept();
    Follower& add(Fd socket, Fd other = {});
    void hear(Follower& follower);
    bool obey(Follower& follower, const std::string& line);
    bool answer_ping(Follower& follower, const std::string& line);
    bool is_there(int number, const Follower* follower) const;
    void send(Follower& follower, const std::string& bytes);
    void drop(Follower& follower);
    void check_lease();

    Loop& loop_;
    Fd listener_;
    std::int64_t lease_ms_;
    std::int64_t last_word_ms_; // of a client, whether its follower is there still or not
    std::map<int, std::unique_ptr<Follower>> followers_{};
    int ordering_ = -1; // the follower whose order is obeyed now
    std::uint64_t last_id_ = 0;
    struct Told {
        std::string kind{}, event{};
    };
    std::vector<Told> told_{};
    std::uint64_t log_size_ = 0;
};

} // namespace dockdist::node
