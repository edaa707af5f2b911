#include "node/job/detached/member_links.hpp"

#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_member_line = 1U << 20U; // a rank's last lines, or a job's record, travel in it
constexpr std::size_t longest_greeting = 4U << 10U;
constexpr std::size_t most_unknown_members = 16; // members that dial again come one by one

} // namespace

MemberLinks::MemberLinks(Loop& loop, Fd door, const std::string& scratch, std::size_t parts)
    : loop_(loop), parts_(parts), door_(loop, std::move(door), scratch, KnockWith::words,
                                        [this](Caller caller) { take_in(std::move(caller)); }) {}

MemberLinks::~MemberLinks() {
    drop_all();
}

void MemberLinks::take_in(Caller caller) {
    if (strangers_.size() == most_unknown_members + parts_) {
        drop_link(strangers_.front());
    }
    const int number = caller.from.get();
    auto& link = *(links_[number] = std::make_unique<Link>());
    link.from = std::move(caller.from);
    link.to = std::move(caller.to);
    strangers_.push_back(number);
    loop_.watch(number, POLLIN, [this, number](short) { hear(number); });
    loop_.watch(link.to.get(), 0, [this, number](short happened) {
        (happened & POLLERR) != 0 ? drop_link(number) : write(*links_.at(number));
    });
    hear(number); // it may be gone
}

void MemberLinks::hear(int number) {
    auto& link = *links_.at(number);
    char buffer[16384];
    const auto count = ::read(number, buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0 || link.heard.size() > (link.part ? longest_member_line : longest_greeting)) {
        return drop_link(number);
    }
    link.heard.append(buffer, static_cast<std::size_t>(count));
    if (link.part) {
        on_heard(*link.part);
    }
    const auto* const same = &link;
    for (auto end = link.heard.find('\n'); end != std::string::npos; end = link.heard.find('\n')) {
        const auto line = link.heard.substr(0, end);
        link.heard.erase(0, end + 1);
        if (!take(link, line)) {
            return drop_link(number);
        }
        if (const auto found = links_.find(number); found == links_.end() || found->second.get() != same) {
            return; // what it said was its last word
        }
    }
    after_lines();
}

bool MemberLinks::take(Link& link, const std::string& line) {
    if (!link.part) {
        return greet(link, line);
    }
    if (!line.empty()) {
        on_line(*link.part, line);
    }
    return true;
}

bool MemberLinks::greet(Link& link, const std::string& line) {
    const auto greeting = wire::parse_link_greeting(line, parts_);
    if (!greeting) {
        return false;
    }
    const auto verdict = on_greeting(*greeting);
    if (!verdict.welcome) {
        link.unsent = verdict.farewell;
        write(link);
        return false;
    }
    drop(greeting->part); // the member has dialled again
    link.part = greeting->part;
    std::erase(strangers_, link.from.get());
    on_linked(greeting->part);
    return true;
}

MemberLinks::Link* MemberLinks::link_of(std::size_t part) {
    const auto found =
        std::ranges::find_if(links_, [&](const auto& entry) { return entry.second->part == part; });
    return found == links_.end() ? nullptr : found->second.get();
}

void MemberLinks::send(std::size_t part, const std::string& bytes) {
    if (auto* link = link_of(part); link != nullptr && link->unsent.size() < wire::max_line) { // else the
        link->unsent += bytes; // peer has died
        write(*link);
    }
}

void MemberLinks::write(Link& link) {
    while (!link.unsent.empty()) {
        const auto count = ::write(link.to.get(), link.unsent.data(), link.unsent.size());
        if (count <= 0) {
            break;
        }
        link.unsent.erase(0, static_cast<std::size_t>(count));
    }
    loop_.want(link.to.get(), link.unsent.empty() ? 0 : POLLOUT);
}

void MemberLinks::drop(std::size_t part) {
    if (auto* link = link_of(part); link != nullptr) {
        drop_link(link->from.get());
    }
}

void MemberLinks::drop_all() {
    while (!links_.empty()) {
        drop_link(links_.begin()->first);
    }
}

void MemberLinks::drop_link(int number) {
    loop_.forget(number);
    loop_.forget(links_.at(number)->to.get());
    std::erase(strangers_, number);
    links_.erase(number);
}

} // namespace dockdist::node
