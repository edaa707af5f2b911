#include "node/job/follower_list.hpp"

#include "node/job/supervisor.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t follower_goodbye_ms = 1000;
constexpr std::int64_t accept_pause_ms = 200; // where no descriptor is left

} // namespace

FollowerList::FollowerList(Loop& loop, Fd listener, std::int64_t lease_ms)
    : loop_(loop), listener_(std::move(listener)), lease_ms_(lease_ms), last_word_ms_(loop.now_ms()) {
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
    check_lease();
}

void FollowerList::accept() {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.open()) {
        add(std::move(socket));
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        loop_.want(listener_.get(), 0);
        loop_.after(accept_pause_ms, [this] { loop_.want(listener_.get(), POLLIN); });
    }
}

FollowerList::Follower& FollowerList::add(Fd socket, Fd other) {
    const int number = socket.get();
    auto& follower = *(followers_[number] = std::make_unique<Follower>());
    follower.id = ++last_id_;
    follower.socket = std::move(socket);
    follower.other = std::move(other);
    follower.last_heard_ms = loop_.now_ms();
    loop_.watch(number, POLLIN, [this, &follower](short) { hear(follower); });
    if (follower.other.open()) { // its end is told by the one that is read
        loop_.watch(follower.other.get(), 0, [this, &follower](short happened) {
            (happened & POLLOUT) != 0 ? send(follower, "") : loop_.forget(follower.other.get());
        });
    }
    for (const auto& [kind, event] : told_) {
        send(follower, event + "\n");
    }
    return follower;
}

void FollowerList::add_link(Pipe ends, Link link) {
    drop_link();
    auto& follower = add(std::move(ends.read), std::move(ends.write));
    follower.may_order = !link.pings_first;
    follower.link = std::move(link);
}

void FollowerList::drop_link() {
    std::erase_if(followers_, [this](const auto& entry) {
        if (entry.second->link) {
            loop_.forget(entry.first);
            loop_.forget(entry.second->other.get());
        }
        return entry.second->link.has_value();
    });
}

void FollowerList::need_no_client() {
    lease_ms_ = 0;
}

void FollowerList::hear(Follower& follower) {
    char buffer[4096];
    const auto count = ::read(follower.socket.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return send(follower, "");
    }
    if (count <= 0 || follower.heard.size() > wire::max_line) {
        return drop(follower);
    }
    follower.heard.append(buffer, static_cast<std::size_t>(count));
    for (auto end = follower.heard.find('\n'); end != std::string::npos; end = follower.heard.find('\n')) {
        const auto line = follower.heard.substr(0, end);
        follower.heard.erase(0, end + 1);
        if (!obey(follower, line)) {
            return;
        }
    }
}

bool FollowerList::is_there(int number, const Follower* follower) const {
    const auto found = followers_.find(number);
    return found != followers_.end() && found->second.get() == follower;
}

bool FollowerList::answer_ping(Follower& follower, const std::string& line) {
    const int number = follower.socket.get();
    const auto on_ping = follower.link->on_ping; // which may drop the link
    const auto answer = on_ping(line);
    if (!is_there(number, &follower)) {
        return false;
    }
    if (!answer) {
        drop(follower);
        return false;
    }
    follower.may_order = true;
    send(follower, *answer);
    return true;
}

// False when the follower is there no more.
bool FollowerList::obey(Follower& follower, const std::string& line) {
    const auto command = wire::parse_job_command(line);
    if (!command) {
        return true;
    }
    // Who asks what ranks are doing holds nothing: the job's own client may be gone.
    follower.last_heard_ms = command->type == wire::JobCommand::Type::stacks ? 0 : loop_.now_ms();
    last_word_ms_ = std::max(last_word_ms_, follower.last_heard_ms);
    if (command->type == wire::JobCommand::Type::ping) {
        return !follower.link || answer_ping(follower, line);
    }
    if (!follower.may_order) {
        return true;
    }
    const int number = follower.socket.get();
    ordering_ = number;
    const bool stops = command->type == wire::JobCommand::Type::stop;
    on_order(*command, stops && std::exchange(follower.has_stopped, true));
    ordering_ = -1;
    return is_there(number, &follower);
}

void FollowerList::answer(const std::string& event) {
    if (const auto found = followers_.find(ordering_); found != followers_.end()) {
        send(*found->second, event + "\n");
    }
}

std::function<void(const std::string& event)> FollowerList::later_answer() {
    const auto asking = followers_.find(ordering_);
    const auto id = asking == followers_.end() ? 0 : asking->second->id;
    return [this, number = ordering_, id](const std::string& event) {
        if (const auto found = followers_.find(number);
            found != followers_.end() && found->second->id == id) {
            send(*found->second, event + "\n");
        }
    };
}

void FollowerList::send(Follower& follower, const std::string& bytes) {
    const bool is_pipe = follower.other.open();
    const int fd = is_pipe ? follower.other.get() : follower.socket.get();
    const auto usual = static_cast<short>(is_pipe ? 0 : POLLIN);
    follower.unsent += bytes;
    while (!follower.unsent.empty()) {
        const auto count = ::write(fd, follower.unsent.data(), follower.unsent.size());
        if (count <= 0) {
            loop_.want(fd, static_cast<short>(errno == EAGAIN ? usual | POLLOUT : usual));
            return;
        }
        follower.unsent.erase(0, static_cast<std::size_t>(count));
    }
    loop_.want(fd, usual);
}

void FollowerList::drop(Follower& follower) {
    const int number = follower.socket.get();
    const auto link = std::move(follower.link);
    loop_.forget(number);
    loop_.forget(follower.other.get());
    followers_.erase(number);
    if (link) {
        link->on_end();
    }
}

void FollowerList::tell(const std::string& event, const std::string& kind) {
    if (!kind.empty()) {
        std::erase_if(told_, [&](const Told& told) { return told.kind == kind; });
    }
    told_.push_back({kind, event});
    for (const auto& [number, follower] : followers_) {
        send(*follower, event + "\n");
    }
}

void FollowerList::log_is(std::uint64_t size) {
    if (size == log_size_) {
        return;
    }
    log_size_ = size;
    for (const auto& [number, follower] : followers_) {
        if (follower->unsent.empty() && !follower->link) { // what waits there wakes it anyway
            send(*follower, "\n");
        }
    }
}

void FollowerList::say_goodbye(const std::string& event) {
    tell(event);
    const auto deadline = monotonic_ms() + follower_goodbye_ms;
    for (const auto& [number, follower] : followers_) {
        while (!follower->unsent.empty() && monotonic_ms() < deadline) {
            const int fd = follower->other.open() ? follower->other.get() : number;
            pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
            if (::poll(&ready, 1, static_cast<int>(deadline - monotonic_ms())) <= 0 ||
                (ready.revents & POLLERR) != 0) {
                break;
            }
            send(*follower, "");
        }
        loop_.forget(number);
        loop_.forget(follower->other.get());
    }
    followers_.clear();
    loop_.forget(listener_.get());
    listener_.reset();
}

void FollowerList::check_lease() {
    if (lease_ms_ == 0) {
        return; // for good: detaching cannot be taken back
    }
    // That a stream has ended is no word of its client: an engine or an ssh ends one late that is cut off. A
    // client that has just come says its first one soon.
    auto heard_ms = last_word_ms_;
    for (const auto& [number, follower] : followers_) {
        heard_ms = std::max(heard_ms, follower->last_heard_ms);
    }
    if (loop_.now_ms() - heard_ms >= lease_ms_) {
        on_lease_over();
        return;
    }
    loop_.after(std::clamp<std::int64_t>(lease_ms_ / 4, 50, 1000), [this] { check_lease(); });
}

} // namespace dockdist::node
