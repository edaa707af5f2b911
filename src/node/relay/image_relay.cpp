#include "node/relay/image_relay.hpp"

#include "node/relay/relay_guests.hpp"
#include "node/relay/relay_socket.hpp"
#include "node/relay/relay_thread.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "wire/image_relay.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_client_line = 16 << 20;

// The first limit is for programs that count in sets of 1024.
void take_all_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// Strangers at both doors leave descriptors for the image and for those who were let in.
RelayDoorLimits door_limits() {
    RelayDoorLimits limits;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        limits.strangers = std::clamp<std::size_t>(files.rlim_cur / 8, 4, limits.strangers);
    }
    return limits;
}

class Relay {
public:
    Relay(wire::RelayOpening opening, RelayInput& input)
        : opening_(std::move(opening)), input_(input), store_(paths().blobs, opening_.most_ahead) {}

    int run() {
        wire::RelayMessage listening;
        engine_ = listen_on("127.0.0.1", listening.engine_port);
        listening.address = opening_.address;
        relays_ = listen_on(listening.address, listening.peer_port);
        if (!relays_.open()) {
            listening.address = default_address();
            relays_ = listen_on(listening.address, listening.peer_port);
        }
        if (!engine_.open()) {
            (void)write_all(STDERR_FILENO, "dockdist-init: cannot listen on 127.0.0.1\n");
            return 1;
        }
        client_.tell(listening);
        const auto line = input_.line();
        const auto peers = line ? wire::parse_relay_peers(*line) : Result<wire::RelayPeers>(Error{});
        if (!peers) {
            return 1;
        }
        for (const auto& pair : peers->downstreams) {
            keys_[pair.asking] = relay_key(pair.key);
        }
        fetcher_.begin(peers->upstreams);
        if (!start_thread([this] { keep_doors(); })) {
            (void)write_all(STDERR_FILENO, "dockdist-init: cannot start a thread\n");
            return 1;
        }
        client_.listen(input_);
        return 0;
    }

private:
    void keep_doors() {
        Loop loop;
        const auto limits = door_limits();
        const RelayDoor engine(
            loop, std::move(engine_), limits,
            [this] { return std::make_unique<EngineStranger>(authorization_); },
            [this](Fd connection, const std::unique_ptr<Stranger>& stranger) {
                guests_.let_engine_in(std::move(connection), static_cast<EngineStranger&>(*stranger));
            });
        std::optional<RelayDoor> relays;
        if (relays_.open()) {
            relays.emplace(
                loop, std::move(relays_), limits, [this] { return std::make_unique<RelayStranger>(keys_); },
                [this](Fd connection, const std::unique_ptr<Stranger>& stranger) {
                    guests_.let_relay_in(std::move(connection), static_cast<RelayStranger&>(*stranger));
                });
        }
        loop.run();
    }

    wire::RelayOpening opening_;
    RelayInput& input_;
    RelayStore store_;
    DiskComplaint disk_{};
    RelayClient client_{store_, disk_};
    RelayFetcher fetcher_{store_, client_, disk_};
    std::string authorization_ = relay_authorization(opening_.token);
    RelayGuests guests_{store_, client_, fetcher_, authorization_};
    RelayStranger::Keys keys_{};
    Fd engine_{}, relays_{};
};

} // namespace

int run_image_relay() {
    std::signal(SIGPIPE, SIG_IGN);
    take_all_descriptors();
    RelayInput input(read_from(STDIN_FILENO), longest_client_line);
    const auto line = input.line();
    const auto opening =
        line ? wire::parse_relay_opening(*line) : Result<wire::RelayOpening>(Error{.message = "no opening"});
    if (!opening) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + opening.error().message + "\n");
        return 1;
    }
    if (const auto made = make_folder(paths().blobs, 0700, {::geteuid(), ::getegid()}); !made) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + made.error().message + "\n");
        return 1;
    }
    // Its threads may be anywhere when stdin ends: nothing of it outlives the process.
    auto* relay = new Relay(*opening, input); // NOLINT(cppcoreguidelines-owning-memory)
    std::_Exit(relay->run());
}

int hold_image_relay() {
    constexpr unsigned interval_s = 20;
    constexpr int most_alone = 3;
    for (const int signal : {SIGTERM, SIGINT}) {
        std::signal(signal, [](int) { ::_exit(0); }); // the first process has no default actions
    }
    for (int alone = 0; alone < most_alone;) {
        ::sleep(interval_s);
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        alone = alone_in_container() ? alone + 1 : 0;
    }
    return 0;
}

} // namespace dockdist::node
