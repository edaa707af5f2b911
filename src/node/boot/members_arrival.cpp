#include "node/boot/members_arrival.hpp"

#include "core/ip_address.hpp"
#include "digest/sha256.hpp"
#include "node/system/loop.hpp"
#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int most_callers = 8; // at a door: of one giver, and of one that has lost its connection meanwhile

class MembersArrival {
public:
    MembersArrival(JoinStream& client, const wire::MembersNotice& notice, MembersDoor door)
        : client_(client), notice_(notice), door_(std::move(door)) {}

    Result<std::string> run() {
        loop_.watch(client_.in(), POLLIN, [this](short) {
            auto line = client_.read_some();
            if (!line) {
                end(line.error());
            } else if (*line) {
                take_from_client(std::move(**line));
            }
        });
        if (notice_.giver) {
            let_in_at(door_.for_sessions());
            let_in_at(door_.for_neighbours());
            loop_.after(notice_.patience_ms, [this] { ask_client(); });
        }
        if (auto line = client_.line_that_came()) { // with the notice
            take_from_client(std::move(*line));
        }
        if (!list_) {
            loop_.run();
        }
        return std::move(*list_);
    }

private:
    struct Caller {
        Fd socket{};
        int door = -1;
        std::string text{};
    };

    void end(Result<std::string> list) {
        list_ = std::move(list);
        loop_.stop();
    }

    void take_from_client(std::string line) {
        if (sha256_hex(line) == notice_.sha256) {
            end(std::move(line));
        } else {
            end(Error{.kind = ErrorKind::protocol,
                      .message = "the list of members is not the one that the client has announced",
                      .hint = "run `dockdist up` again"});
        }
    }

    void let_in_at(int listener) {
        if (listener >= 0) {
            loop_.watch(listener, POLLIN, [this, listener](short) { let_in(listener); });
        }
    }

    void let_in(int listener) {
        Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        const auto there =
            std::ranges::count(callers_, listener, [](const auto& each) { return each.second.door; });
        if (!socket.open() || there >= most_callers ||
            (listener == door_.for_neighbours() && !is_our_user(socket.get()))) {
            return;
        }
        const int number = socket.get();
        callers_[number] = {.socket = std::move(socket), .door = listener};
        loop_.watch(number, POLLIN, [this, number](short) { hear_caller(number); });
    }

    void hear_caller(int number) {
        auto& caller = callers_[number];
        char piece[65536];
        const auto count = ::read(number, piece, sizeof piece);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
            return;
        }
        if (count > 0 && caller.text.size() <= wire::max_line) {
            caller.text.append(piece, static_cast<std::size_t>(count));
            return;
        }
        const bool right = count == 0 && sha256_hex(caller.text) == notice_.sha256;
        if (right) {
            (void)::send(number, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            end(std::move(caller.text));
        }
        loop_.forget(number);
        callers_.erase(number);
        if (!right) {
            ask_client();
        }
    }

    void ask_client() {
        if (!std::exchange(asked_, true)) {
            if (const auto written = client_.write(wire::want_line()); !written) {
                end(written.error());
            }
        }
    }

    JoinStream& client_;
    const wire::MembersNotice& notice_;
    MembersDoor door_;
    Loop loop_{};
    std::map<int, Caller> callers_{};
    std::optional<Result<std::string>> list_{};
    bool asked_ = false;
};

} // namespace

std::string neighbours_door(const std::string& address, int ssh_port) {
    return "dockdist/members/" + address_and_port(address, ssh_port);
}

Result<MembersDoor> MembersDoor::open(Owner owner, const std::string& address, int ssh_port) {
    auto for_sessions = listen_unix(paths().members_socket, SOCK_STREAM, 0600, owner);
    if (!for_sessions) {
        return for_sessions.error();
    }
    auto for_neighbours = listen_by_name(neighbours_door(address, ssh_port));
    return MembersDoor(std::move(*for_sessions), for_neighbours ? std::move(*for_neighbours) : Fd());
}

MembersDoor::~MembersDoor() {
    if (for_sessions_.open()) {
        ::unlink(paths().members_socket.c_str());
    }
}

Result<std::string> await_members(JoinStream& client, const wire::MembersNotice& notice, MembersDoor door) {
    return MembersArrival(client, notice, std::move(door)).run();
}

} // namespace dockdist::node
