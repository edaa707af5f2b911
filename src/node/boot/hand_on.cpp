#include "node/boot/hand_on.hpp"

#include "node/boot/members_arrival.hpp"
#include "node/session/take_members.hpp"
#include "node/system/helper_run.hpp"
#include "node/system/loop.hpp"
#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/quick_ssh.hpp"
#include "node/system/unix_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

// A receiver may hear of its giver a moment after the giver has the list.
constexpr std::int64_t first_hand_pause_ms = 50;
constexpr std::int64_t longest_hand_pause_ms = 1000;
constexpr std::int64_t door_patience_ms = 2000; // who has taken a neighbour's name may never read, or answer

class HandOn {
public:
    HandOn(const std::vector<wire::NodeRecord>& receivers, const wire::NodeRecord& self,
           std::int64_t timeout_ms)
        : deadline_(loop_.now_ms() + timeout_ms), list_(read_file_or_empty(paths().members)) {
        for (const auto& node : receivers) {
            receivers_.push_back({.node = node, .beside = node.address == self.address});
        }
    }

    void run() {
        missing_ = receivers_.size();
        loop_.after(deadline_ - loop_.now_ms(), [this] { loop_.stop(); });
        for (auto& receiver : receivers_) {
            if (!receiver.beside || !knock(receiver)) {
                log_in(receiver);
            }
        }
        if (missing_ > 0) {
            loop_.run();
        }
    }

private:
    struct Receiver {
        wire::NodeRecord node{};
        bool beside = false; // on the same host
        Fd door{};
        Loop::Timer patience = 0;
        std::size_t sent = 0;
        std::unique_ptr<HelperRun> login{};
        std::int64_t pause_ms = first_hand_pause_ms;
    };

    bool knock(Receiver& receiver) {
        auto door = connect_by_name(neighbours_door(receiver.node.address, receiver.node.ssh_port));
        if (!door || !is_our_user(door->get())) {
            return false;
        }
        receiver.door = std::move(*door);
        receiver.patience = loop_.after(door_patience_ms, [this, &receiver] { leave(receiver); });
        loop_.watch(receiver.door.get(), POLLOUT, [this, &receiver](short) { send(receiver); });
        return true;
    }

    void send(Receiver& receiver) {
        const int door = receiver.door.get();
        const auto rest = std::string_view(list_).substr(receiver.sent);
        const auto count = ::send(door, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (count < 0) {
            return leave(receiver);
        }
        receiver.sent += static_cast<std::size_t>(count);
        if (receiver.sent == list_.size()) {
            ::shutdown(door, SHUT_WR);
            loop_.watch(door, POLLIN, [this, &receiver](short) { hear(receiver); });
        }
    }

    void hear(Receiver& receiver) {
        char taken = 0;
        const auto count = ::read(receiver.door.get(), &taken, 1);
        if (count == 1) {
            shut(receiver);
            took();
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            leave(receiver);
        }
    }

    void shut(Receiver& receiver) {
        loop_.cancel(receiver.patience);
        loop_.forget(receiver.door.get());
        receiver.door.reset();
    }

    void leave(Receiver& receiver) {
        shut(receiver);
        log_in(receiver);
    }

    // What it brings is public and held against its digest.
    void log_in(Receiver& receiver) {
        const Fd list(::open(paths().members.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        auto argv = quick_ssh();
        argv.insert(argv.end(), {"-T", "--", receiver.node.node, take_members_command()});
        receiver.login = std::make_unique<HelperRun>(
            loop_, toolkit_helper(paths().ssh, std::move(argv), recorded_account()),
            std::max<std::int64_t>(deadline_ - loop_.now_ms(), 1),
            [this, &receiver](const Finished& finished) { on_end(receiver, finished.code); }, list);
    }

    void on_end(Receiver& receiver, int code) {
        if (code == 0) {
            return took();
        }
        loop_.after(receiver.pause_ms, [this, &receiver] { log_in(receiver); });
        receiver.pause_ms = std::min(receiver.pause_ms * 2, longest_hand_pause_ms);
    }

    void took() {
        if (--missing_ == 0) {
            loop_.stop();
        }
    }

    Loop loop_{};
    std::int64_t deadline_;
    std::string list_;
    std::vector<Receiver> receivers_{};
    std::size_t missing_ = 0;
};

} // namespace

void hand_on(const std::vector<wire::NodeRecord>& receivers, const wire::NodeRecord& self,
             std::int64_t timeout_ms) {
    HandOn(receivers, self, timeout_ms).run();
}

} // namespace dockdist::node
