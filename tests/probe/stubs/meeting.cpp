#include "probe/stubs/meeting.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace stub {
namespace {

struct Hello {
    int rank = 0;
    int ranks = 0;
};

bool receive(int from, void* data, std::size_t bytes) {
    return recv(from, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

bool send_all(int to, const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes != 0) {
        const auto sent = send(to, at, bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
    return true;
}

// One round: what every rank shows, each after its length. False where a rank is gone.
bool gather(const std::vector<int>& ranks, std::vector<unsigned char>& all) {
    all.clear();
    for (const int rank : ranks) {
        std::uint64_t length = 0;
        if (!receive(rank, &length, sizeof length) || length > piece) {
            return false;
        }
        const auto at = all.size();
        all.resize(at + sizeof length + length);
        std::memcpy(all.data() + at, &length, sizeof length);
        if (length != 0 && !receive(rank, all.data() + at + sizeof length, length)) {
            return false;
        }
    }
    return true;
}

void serve(int listener) {
    std::vector<int> ranks;
    for (std::size_t come = 0; ranks.empty() || come < ranks.size();) {
        const int one = accept(listener, nullptr, nullptr);
        Hello hello;
        if (one < 0 || !receive(one, &hello, sizeof hello)) {
            close(one);
            continue;
        }
        constexpr int on = 1;
        setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ranks.resize(static_cast<std::size_t>(hello.ranks), -1);
        ranks[static_cast<std::size_t>(hello.rank)] = one;
        ++come;
    }
    close(listener);
    std::vector<unsigned char> all;
    while (gather(ranks, all)) {
        // Rank 0 last: the hub ends with its process.
        for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
            send_all(*rank, all.data(), all.size());
        }
    }
    for (const int rank : ranks) {
        close(rank);
    }
}

} // namespace

OwnAddress own_address() {
    OwnAddress found;
    const auto* wanted = std::getenv("NCCL_SOCKET_IFNAME");
    ifaddrs* list = nullptr;
    if (wanted == nullptr || getifaddrs(&list) != 0) {
        return found;
    }
    if (*wanted == '=') {
        ++wanted;
    }
    for (const auto* one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
            std::strcmp(one->ifa_name, wanted) == 0) {
            char text[INET_ADDRSTRLEN] = "";
            inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
                      sizeof text);
            found = {.interface = wanted, .address = text};
        }
    }
    freeifaddrs(list);
    return found;
}

std::string open_hub() {
    const auto own = own_address();
    sockaddr_in at{};
    at.sin_family = AF_INET;
    inet_pton(AF_INET, own.address.c_str(), &at.sin_addr);
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(listener, 128) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
        close(listener);
        return "";
    }
    std::thread(serve, listener).detach();
    return own.address + ":" + std::to_string(ntohs(at.sin_port));
}

PeerWait::PeerWait(const std::string& place, int rank, int ranks)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), rank_(rank), ranks_(ranks), own_(piece),
      pieces_(static_cast<std::size_t>(ranks), std::vector<unsigned char>(piece)) {
    const auto colon = place.find(':');
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(place.c_str() + colon + 1)));
    inet_pton(AF_INET, place.substr(0, colon).c_str(), &at.sin_addr);
    constexpr int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const Hello hello{.rank = rank, .ranks = ranks};
    if (connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) {
        send_all(socket_, &hello, sizeof hello);
    }
}

PeerWait::~PeerWait() {
    close(socket_);
}

bool PeerWait::transfer(unsigned char* data, std::size_t bytes, bool out) {
    while (bytes != 0 && !aborted_) {
        pollfd ready{.fd = socket_, .events = static_cast<short>(out ? POLLOUT : POLLIN), .revents = 0};
        if (poll(&ready, 1, 20) == 0) {
            continue;
        }
        const auto done = out ? send(socket_, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(socket_, data, bytes, MSG_DONTWAIT);
        if (done == 0 || (done < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        if (done > 0) {
            data += done;
            bytes -= static_cast<std::size_t>(done);
        }
    }
    return !aborted_;
}

Ended PeerWait::wait(std::size_t shown) {
    const auto ended = [this] { return aborted_ ? Ended::aborted : Ended::peer_died; };
    std::uint64_t length = shown;
    if (!transfer(reinterpret_cast<unsigned char*>(&length), sizeof length, true) ||
        !transfer(own_.data(), shown, true)) {
        return ended();
    }
    for (auto& theirs : pieces_) {
        if (!transfer(reinterpret_cast<unsigned char*>(&length), sizeof length, false) || length > piece ||
            !transfer(theirs.data(), length, false)) {
            return ended();
        }
    }
    return Ended::no;
}

} // namespace stub
