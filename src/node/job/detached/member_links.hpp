// The links of a detached job's members, at the node that they have dialled: who each is, and lines to and
// fro. What a link has not taken when it breaks is lost: it is said again on the next one.
#pragma once

#include "node/system/fifo_door.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/succession.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dockdist::node {

// On top of the lease, where a link is still to be made: the logins of all members come at once.
constexpr std::int64_t link_login_ms = 5000;

class MemberLinks {
public:
    // `door`: where `dockdist-init job link` knocks, with FIFOs in `scratch`; see shared/wire/succession.hpp
    // for what it says first. Few are let in that have not said it yet: of more, the oldest goes.
    MemberLinks(Loop& loop, Fd door, const std::string& scratch, std::size_t parts);
    ~MemberLinks();
    MemberLinks(const MemberLinks&) = delete;
    MemberLinks& operator=(const MemberLinks&) = delete;

    // Who may stay. Else `farewell` is said to it, and the link closed.
    struct Verdict {
        bool welcome = false;
        std::string farewell{};
    };
    std::function<Verdict(const wire::LinkGreeting&)> on_greeting{};
    std::function<void(std::size_t part)> on_linked{};
    std::function<void(std::size_t part)> on_heard{}; // whatever it was
    std::function<void(std::size_t part, const std::string& line)> on_line{};
    std::function<void()> after_lines{};

    void send(std::size_t part, const std::string& bytes); // nothing where it has no link
    void drop(std::size_t part);
    void drop_all();
    bool empty() const { return links_.empty(); }

private:
    struct Link {
        Fd from{}, to{};
        std::optional<std::size_t> part{}; // known from its first line
        std::string heard{};               // an unfinished line
        std::string unsent{};
    };
    void take_in(Caller caller);
    void hear(int number);
    bool take(Link& link, const std::string& line);
    bool greet(Link& link, const std::string& line);
    void write(Link& link);
    void drop_link(int number);
    Link* link_of(std::size_t part);

    Loop& loop_;
    std::size_t parts_;
    FifoDoor door_;
    std::map<int, std::unique_ptr<Link>> links_{}; // by the descriptor that is read
    std::deque<int> strangers_{}; // of these, who have not said who they are; the oldest first
};

} // namespace dockdist::node
