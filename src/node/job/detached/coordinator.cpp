#include "node/job/detached/coordinator.hpp"

#include "core/exit_codes.hpp"
#include "job_state/job_end.hpp"
#include "launch/relaunch.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t longest_tick_ms = 1000;
constexpr std::size_t longest_member_line = 1U << 20U; // a rank's last lines travel in it

} // namespace

Coordinator::Coordinator(Loop& loop, wire::JobPolicy settings, Fd listener, std::int64_t lease_ms)
    : loop_(loop), state_(std::move(settings), relaunch), own_(wire::coordinator_part(state_.settings())),
      listener_(std::move(listener)), lease_ms_(lease_ms), members_(state_.settings().parts.size()) {
    for (std::size_t part = 0; part < members_.size(); ++part) {
        members_[part].last_heard_ms = loop_.now_ms();
        members_[part].gone = state_.settings().parts[part].lost;
    }
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
    tick();
}

Coordinator::~Coordinator() {
    loop_.cancel(timer_);
    loop_.forget(listener_.get());
    for (const auto& link : links_) {
        loop_.forget(link->socket.get());
    }
}

void Coordinator::accept() {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
        return;
    }
    const int number = socket.get();
    auto& link = *links_.emplace_back(std::make_unique<Link>());
    link.socket = std::move(socket);
    loop_.watch(number, POLLIN, [this, &link](short happened) {
        if ((happened & POLLOUT) != 0) {
            write(link);
        }
        hear(link);
    });
}

void Coordinator::hear(Link& link) {
    char buffer[16384];
    const auto count = ::recv(link.socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0 || link.heard.size() > longest_member_line) {
        return drop(link);
    }
    if (link.part) {
        members_[*link.part].last_heard_ms = loop_.now_ms();
    }
    link.heard.append(buffer, static_cast<std::size_t>(count));
    for (auto end = link.heard.find('\n'); end != std::string::npos; end = link.heard.find('\n')) {
        const auto line = link.heard.substr(0, end);
        link.heard.erase(0, end + 1);
        if (line.empty()) {
            continue; // the answer to a ping
        }
        if (!link.part) {
            if (!greet(link, line)) {
                return drop(link);
            }
            continue;
        }
        if (const auto event = wire::parse_job_event(line)) {
            take(*link.part, *event);
        }
    }
    decide();
}

// The first line of a link says whose it is: {"part":N}.
bool Coordinator::greet(Link& link, const std::string& line) {
    int part = 0;
    const auto object = wire::parse_object(line, "a member's greeting");
    if (!object) {
        return false;
    }
    wire::ObjectReader reader(*object, "a member's greeting");
    reader.read("part", part);
    if (reader.failed() || part < 0 || static_cast<std::size_t>(part) >= members_.size() ||
        static_cast<std::size_t>(part) == own_) {
        return false;
    }
    auto& member = members_[static_cast<std::size_t>(part)];
    if (member.gone) { // it was lost, and the job has gone on without it
        link.unsent = wire::job_command_line({.type = wire::JobCommand::Type::stop});
        write(link);
        return false;
    }
    if (member.link != nullptr) {
        drop(*member.link); // the member has dialled again
    }
    link.part = static_cast<std::size_t>(part);
    member.link = &link;
    member.last_heard_ms = loop_.now_ms();
    send(member, wire::job_command_line({.type = wire::JobCommand::Type::ping}));
    if (member.order) {
        send(member, wire::job_command_line(*member.order));
    }
    return true;
}

void Coordinator::drop(Link& link) {
    if (link.part && members_[*link.part].link == &link) {
        members_[*link.part].link = nullptr;
    }
    loop_.forget(link.socket.get());
    std::erase_if(links_, [&](const auto& other) { return other.get() == &link; });
}

void Coordinator::send(Member& member, const std::string& line) {
    if (member.link != nullptr && member.link->unsent.size() < wire::max_line) { // else the peer has died
        member.link->unsent += line;
        write(*member.link);
    }
}

// What a broken link has not taken is said again when the member dials anew.
void Coordinator::write(Link& link) {
    while (!link.unsent.empty()) {
        const auto count =
            ::send(link.socket.get(), link.unsent.data(), link.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count <= 0) {
            break;
        }
        link.unsent.erase(0, static_cast<std::size_t>(count));
    }
    loop_.want(link.socket.get(), link.unsent.empty() ? POLLIN : POLLIN | POLLOUT);
}

void Coordinator::take(std::size_t part, const wire::JobEvent& event) {
    if (event.type != wire::JobEvent::Type::exited) {
        return state_.hear(part, event);
    }
    members_[part].gone = true;
    state_.exited(part, event.result);
}

void Coordinator::hear_own(const wire::JobEvent& event) {
    if (event.type != wire::JobEvent::Type::exited) {
        take(own_, event);
        decide();
    }
}

void Coordinator::stop_members(std::int64_t grace_ms) {
    const wire::JobCommand command{.type = wire::JobCommand::Type::stop, .grace_ms = grace_ms};
    for (auto& member : members_) {
        member.order = command;
        send(member, wire::job_command_line(command));
    }
}

// Orders may make the own part report at once, from within.
void Coordinator::decide() {
    if (deciding_) {
        return;
    }
    deciding_ = true;
    for (auto orders = state_.decide(loop_.now_ms()); !orders.empty();
         orders = state_.decide(loop_.now_ms())) {
        tell_notices();
        for (const auto& order : orders) {
            if (order.part == own_) {
                order_own(order.command);
            } else {
                members_[order.part].order = order.command;
                send(members_[order.part], wire::job_command_line(order.command));
            }
        }
    }
    deciding_ = false;
    tell_notices();
    settle_outcome();
}

// The own part stays until it is the last one: it holds what the others have to say.
void Coordinator::order_own(const wire::JobCommand& command) {
    using Type = wire::JobCommand::Type;
    if (command.type == Type::stop) {
        last_own_order_ = {.type = Type::over};
        return on_order({.type = Type::halt, .grace_ms = command.grace_ms, .attempt = state_.attempt()});
    }
    if (command.type == Type::over) {
        last_own_order_ = command;
        return;
    }
    on_order(command);
}

void Coordinator::settle_outcome() {
    if (!last_own_order_ || own_is_told_ || !state_.alone(own_)) {
        return;
    }
    own_is_told_ = true;
    auto command = *last_own_order_;
    command.first = final_failure(state_);
    on_order(command);
}

void Coordinator::tick() {
    timer_ = loop_.after(std::clamp<std::int64_t>(lease_ms_ / 10, 20, longest_tick_ms), [this] { tick(); });
    const auto ping = wire::job_command_line({.type = wire::JobCommand::Type::ping});
    for (auto& member : members_) {
        send(member, ping);
    }
    find_lost();
    decide();
}

void Coordinator::find_lost() {
    const auto now = loop_.now_ms();
    for (std::size_t part = 0; part < members_.size(); ++part) {
        auto& member = members_[part];
        if (part == own_ || member.gone || now - member.last_heard_ms < lease_ms_) {
            continue;
        }
        member.gone = true;
        if (member.link != nullptr) { // pings that come through after all would keep its part alive
            drop(*member.link);
        }
        const auto& node = state_.settings().parts[part].node;
        const auto silence =
            "nothing was heard of " + node + " for " + std::to_string(lease_ms_ / 1000) + " s";
        state_.lost(part, silence, wire::JobFailure{.code = exit_codes::own_failure, .finding = silence});
    }
}

void Coordinator::tell_notices() {
    for (const auto& notice : state_.take_notices()) {
        on_note("dockdist: " + (notice.node.empty() ? "" : notice.node + ": ") + notice.text);
    }
}

} // namespace dockdist::node
