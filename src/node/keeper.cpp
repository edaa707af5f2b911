#include "node/keeper.hpp"

#include "core/text.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t longest_tick_ms = 1000;
constexpr std::size_t longest_line = 1U << 20U; // a rank's last lines travel in it
constexpr int own_failure = 125;

std::string describe(const JobFailure& failure) {
    const auto& what = failure.failure;
    if (!what.finding.empty()) {
        return what.finding;
    }
    return (what.rank < 0 ? "the command" : "rank " + std::to_string(what.rank)) + " on " + failure.node +
           " ended with " + std::to_string(what.code);
}

} // namespace

Keeper::Keeper(Loop& loop, wire::CourseSettings settings, Fd listener, std::int64_t lease_ms)
    : loop_(loop), settings_(std::move(settings)), course_(settings_), listener_(std::move(listener)),
      lease_ms_(lease_ms), members_(settings_.parts.size()) {
    for (auto& member : members_) {
        member.last_heard_ms = monotonic_ms();
    }
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
    tick();
}

Keeper::~Keeper() {
    loop_.cancel(timer_);
    loop_.forget(listener_.get());
    for (const auto& link : links_) {
        loop_.forget(link->socket.get());
    }
}

void Keeper::accept() {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
        return;
    }
    const int number = socket.get();
    auto& link = *links_.emplace_back(std::make_unique<Link>());
    link.socket = std::move(socket);
    loop_.watch(number, POLLIN, [this, &link](short) { hear(link); });
}

void Keeper::hear(Link& link) {
    char buffer[16384];
    const auto count = ::recv(link.socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0 || link.heard.size() > longest_line) {
        return drop(link);
    }
    if (link.part) {
        members_[*link.part].last_heard_ms = monotonic_ms();
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
bool Keeper::greet(Link& link, const std::string& line) {
    int part = 0;
    const auto object = wire::parse_object(line, "a member's greeting");
    if (!object) {
        return false;
    }
    wire::ObjectReader reader(*object, "a member's greeting");
    reader.read("part", part);
    if (reader.failed() || part < 1 || static_cast<std::size_t>(part) >= members_.size()) {
        return false;
    }
    auto& member = members_[static_cast<std::size_t>(part)];
    if (member.link != nullptr) {
        drop(*member.link); // the member has dialled again
    }
    link.part = static_cast<std::size_t>(part);
    member.link = &link;
    member.last_heard_ms = monotonic_ms();
    send(member, wire::job_command_line({.type = wire::JobCommand::Type::ping}));
    if (member.order) {
        send(member, wire::job_command_line(*member.order));
    }
    return true;
}

void Keeper::drop(Link& link) {
    if (link.part && members_[*link.part].link == &link) {
        members_[*link.part].link = nullptr;
    }
    loop_.forget(link.socket.get());
    std::erase_if(links_, [&](const auto& other) { return other.get() == &link; });
}

void Keeper::send(Member& member, const std::string& line) {
    // Orders are short and the peer reads always: what does not fit is a peer that has died, and is said
    // again when it dials anew.
    if (member.link != nullptr) {
        (void)::send(member.link->socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void Keeper::take(std::size_t part, const wire::JobEvent& event) {
    using Type = wire::JobEvent::Type;
    switch (event.type) {
    case Type::started:
        return course_.started(part, event.attempt);
    case Type::rank_failed:
        return course_.rank_failed(part, event.attempt, event.failure);
    case Type::silent:
        return course_.silent(part, event.attempt);
    case Type::speaks:
        return course_.speaks(part, event.attempt);
    case Type::reported:
        return course_.reported(part, event.attempt);
    case Type::ended:
        return course_.ended(part, event.attempt, event.result);
    case Type::exited:
        members_[part].gone = true;
        return course_.exited(part, event.result);
    case Type::prepared:
    case Type::detached:
    case Type::error:
        return;
    }
}

void Keeper::hear_own(const wire::JobEvent& event) {
    if (event.type != wire::JobEvent::Type::exited) {
        take(0, event);
        decide();
    }
}

void Keeper::stop_members(std::int64_t grace_ms) {
    const wire::JobCommand command{.type = wire::JobCommand::Type::stop, .grace_ms = grace_ms};
    for (auto& member : members_) {
        member.order = command;
        send(member, wire::job_command_line(command));
    }
}

// Orders may make the own part report at once, from within.
void Keeper::decide() {
    if (deciding_) {
        return;
    }
    deciding_ = true;
    for (auto orders = course_.decide(monotonic_ms()); !orders.empty();
         orders = course_.decide(monotonic_ms())) {
        if (const auto restart = course_.take_restart()) {
            on_note("dockdist: " + describe(restart->because) + "; attempt " +
                    std::to_string(restart->attempt + 1) + " of " +
                    std::to_string(settings_.max_restarts + 1) + " begins in " +
                    std::to_string(restart->in_ms) + " ms");
        }
        if (const auto first = course_.take_stall()) {
            on_note("dockdist: " + stall_words(settings_, *first));
        }
        for (const auto& order : orders) {
            if (order.part == 0) {
                order_own(order.command);
            } else {
                members_[order.part].order = order.command;
                send(members_[order.part], wire::job_command_line(order.command));
            }
        }
    }
    deciding_ = false;
    settle_outcome();
}

// The own part stays until it is the last one: it holds what the others have to say.
void Keeper::order_own(const wire::JobCommand& command) {
    using Type = wire::JobCommand::Type;
    if (command.type == Type::stop) {
        last_own_order_ = {.type = Type::over};
        return on_order({.type = Type::halt, .grace_ms = command.grace_ms, .attempt = course_.attempt()});
    }
    if (command.type == Type::over) {
        last_own_order_ = command;
        return;
    }
    on_order(command);
}

void Keeper::settle_outcome() {
    if (!last_own_order_ || own_is_told_ || !course_.alone(0)) {
        return;
    }
    own_is_told_ = true;
    auto first = course_.first_failure();
    if (const auto missing = course_.missing_ranks_but(0); missing > 0) {
        const auto wanted = course_.wanted_ranks();
        first = JobFailure{settings_.parts[0].node,
                           {.code = own_failure,
                            .finding = "the launcher ended with 0, and has started " +
                                       std::to_string(wanted - missing) + " of " + std::to_string(wanted) +
                                       " ranks"}};
    }
    auto command = *last_own_order_;
    if (first) {
        command.first_node = first->node;
        command.first = first->failure;
    }
    on_order(command);
}

void Keeper::tick() {
    timer_ = loop_.after(std::clamp<std::int64_t>(lease_ms_ / 10, 20, longest_tick_ms), [this] { tick(); });
    const auto ping = wire::job_command_line({.type = wire::JobCommand::Type::ping});
    for (auto& member : members_) {
        send(member, ping);
    }
    find_lost();
    decide();
}

void Keeper::find_lost() {
    const auto now = monotonic_ms();
    for (std::size_t part = 1; part < members_.size(); ++part) {
        auto& member = members_[part];
        if (member.gone || now - member.last_heard_ms < lease_ms_) {
            continue;
        }
        member.gone = true;
        const auto& node = settings_.parts[part].node;
        const auto silence =
            "nothing was heard of " + node + " for " + std::to_string(lease_ms_ / 1000) + " s";
        if (course_.lost(part, wire::RankFailure{.code = own_failure, .finding = silence})) {
            on_note("dockdist: " + silence + ": the job is stopped");
        }
    }
}

} // namespace dockdist::node
