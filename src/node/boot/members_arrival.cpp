#include "node/boot/members_arrival.hpp"

#include "node/boot/list_callers.hpp"
#include "node/system/fifo_door.hpp"
#include "node/system/loop.hpp"
#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/digest/sha256.hpp"

#include <csignal>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

class MembersArrival {
public:
    MembersArrival(JoinStream& client, const wire::MembersNotice& notice, MembersDoor door)
        : client_(client), notice_(notice), door_(std::move(door)) {}

    Result<std::string> run() {
        ::signal(SIGPIPE, SIG_IGN);
        loop_.watch(client_.in(), POLLIN, [this](short) {
            auto line = client_.read_some();
            if (!line) {
                end(line.error());
            } else if (*line) {
                take_from_client(std::move(**line));
            }
        });
        if (notice_.giver) {
            sessions_.emplace(loop_, Fd(::fcntl(door_.for_sessions().get(), F_DUPFD_CLOEXEC, 0)),
                              paths().user_folder, KnockWith::words, [this](Caller caller) {
                                  callers_.let_in(std::move(caller.from), std::move(caller.to));
                              });
            if (auto* neighbours = door_.for_neighbours()) {
                neighbours->hear(loop_, notice_.sha256,
                                 [this](std::string text) { take_from_giver(std::move(text)); });
            }
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

    void take_from_giver(std::string text) { text.empty() ? ask_client() : end(std::move(text)); }

    void ask_client() {
        if (!std::exchange(asked_, true)) {
            if (const auto written = client_.write(wire::want_line()); !written) {
                end(written.error());
            }
        }
    }

    JoinStream& client_;
    const wire::MembersNotice& notice_;
    Loop loop_{};
    MembersDoor door_;
    ListCallers callers_{loop_, notice_.sha256,
                         [this](std::string text) { take_from_giver(std::move(text)); }};
    std::optional<FifoDoor> sessions_{};
    std::optional<Result<std::string>> list_{};
    bool asked_ = false;
};

} // namespace

std::string neighbours_door(const std::string& address, int ssh_port) {
    return "dockdist/members/" + address_and_port(address, ssh_port);
}

Result<MembersDoor> MembersDoor::open(Owner owner, const std::string& address, int ssh_port) {
    auto for_sessions = FifoDoor::make(paths().members_door, owner);
    TRY(for_sessions);
    auto for_neighbours = listen_by_name(neighbours_door(address, ssh_port));
    return MembersDoor(std::move(*for_sessions),
                       for_neighbours ? std::make_unique<Porter>(std::move(*for_neighbours)) : nullptr);
}

MembersDoor::~MembersDoor() {
    if (for_sessions_.open()) {
        ::unlink(paths().members_door.c_str());
    }
}

Result<std::string> await_members(JoinStream& client, const wire::MembersNotice& notice, MembersDoor door) {
    return MembersArrival(client, notice, std::move(door)).run();
}

} // namespace dockdist::node
