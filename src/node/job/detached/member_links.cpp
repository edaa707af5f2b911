#include "node/job/detached/member_links.hpp"

#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_member_line = 1U << 20U; // a rank's last lines, or a job's record, travel in it

} // namespace

MemberLinks::MemberLinks(Loop& loop, Fd listener, std::size_t parts)
    : loop_(loop), listener_(std::move(listener)), parts_(parts) {
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
}

MemberLinks::~MemberLinks() {
    loop_.forget(listener_.get());
    drop_all();
}

void MemberLinks::accept() {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
        return;
    }
    const int number = socket.get();
    auto& link = *(links_[number] = std::make_unique<Link>());
    link.socket = std::move(socket);
    loop_.watch(number, POLLIN, [this, number](short happened) {
        if ((happened & POLLOUT) != 0) {
            write(*links_.at(number));
        }
        hear(number);
    });
}

void MemberLinks::hear(int number) {
    auto& link = *links_.at(number);
    char buffer[16384];
    const auto count = ::recv(number, buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0 || link.heard.size() > longest_member_line) {
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
        const auto count =
            ::send(link.socket.get(), link.unsent.data(), link.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count <= 0) {
            break;
        }
        link.unsent.erase(0, static_cast<std::size_t>(count));
    }
    loop_.want(link.socket.get(), link.unsent.empty() ? POLLIN : POLLIN | POLLOUT);
}

void MemberLinks::drop(std::size_t part) {
    if (auto* link = link_of(part); link != nullptr) {
        drop_link(link->socket.get());
    }
}

void MemberLinks::drop_all() {
    while (!links_.empty()) {
        drop_link(links_.begin()->first);
    }
}

void MemberLinks::drop_link(int number) {
    loop_.forget(number);
    links_.erase(number);
}

} // namespace dockdist::node
