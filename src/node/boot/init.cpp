// PID 1 of a node: records the container's environment, reaps, keeps sshd, and ends everything when the
// engine says so.
#include "node/boot/init.hpp"

#include "node/boot/first_join.hpp"
#include "node/boot/init_channel.hpp"
#include "node/boot/node_prepare.hpp"
#include "node/boot/sshd_service.hpp"
#include "node/boot/store_keeper.hpp"
#include "node/gpus/board_file.hpp"
#include "node/system/environment.hpp"
#include "node/system/job_guard.hpp"
#include "node/system/paths.hpp"
#include "node/system/port_reservation.hpp"
#include "node/system/process.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

using nlohmann::json;

constexpr std::int64_t supervisors_grace_ms = 5000; // for 3 s that jobs have, and a word to other nodes
constexpr std::int64_t stop_grace_ms = 4000;        // engines KILL 10 s after their TERM
constexpr std::int64_t question_limit_ms = 1000;    // who asks is dockdist-init itself, and asks at once
constexpr std::size_t most_questions = 64;          // that are waited for at a time; the oldest goes

void log_line(const std::string& line) {
    (void)write_all(STDOUT_FILENO, line);
}

class Init {
public:
    int run();

private:
    struct Peer {
        Fd socket{};
        pid_t pid = 0;
        Loop::Timer limit = 0;
    };
    json answer(const json& question, Peer& peer, Fd descriptor);
    json reserve(const std::string& address, int port);
    void let_in(int listener);
    void hear(int number);
    void drop(int number);
    void reap();
    template <class Condition>
    void reap_until(Condition condition, std::int64_t limit_ms);
    void end();

    Loop loop_{};
    SshdService sshd_{loop_, log_line};
    JobGuards guards_{loop_};
    StoreKeeper store_{loop_};
    std::map<int, Peer> peers_{}; // by descriptor
    Loop::Timer reap_ = 0;
    std::optional<FirstJoin> first_join_{};
    Fd held_{}, lock_{};
    std::string held_address_{};
    int held_port_ = 0; // the last that was held
    std::string ready_line_{};
};

json refusal(const Error& error) {
    return {{"ok", false}, {"error", wire::error_to_json(error)}};
}

json Init::reserve(const std::string& address, int port) {
    const Error taken{.kind = ErrorKind::conflict, .message = "the port is taken"};
    const bool mine = port == held_port_ && address == held_address_;
    if (mine && sshd_.pid() > 0) {
        return {{"ok", true}};
    }
    auto lock = mine ? std::optional<Fd>() : lock_port(address, port);
    if (!mine && !lock) { // another node's, though that may not listen yet
        return refusal(taken);
    }
    if (mine) {
        held_.reset(); // somebody else may listen by now
    }
    // Who has no lock, as where the nodes of the host share no folder, cannot know what is there beside
    // remains.
    auto held = mine || lock->open() ? hold_port_beside_remains(address, port) : hold_port(address, port);
    if (!held.open()) {
        return refusal(
            errno == EADDRINUSE
                ? taken
                : system_error("cannot listen on port " + std::to_string(port) + " of " + address, errno));
    }
    if (lock) {
        lock_ = std::move(*lock);
    }
    held_ = std::move(held);
    held_address_ = address;
    held_port_ = port;
    return {{"ok", true}};
}

json Init::answer(const json& question, Peer& peer, Fd descriptor) {
    const auto what = question.value("do", "");
    if (what == "status") { // what a join asks first
        if (first_join_) {
            first_join_->yield_to(peer.pid);
        }
        return {{"ok", true}, {"ssh_port", held_port_}, {"sshd", sshd_.pid()}, {"log", sshd_.last_words()}};
    }
    if (what == "reserve") {
        return reserve(question.value("address", ""), question.value("port", 0));
    }
    if (what == "store") {
        const auto taken = store_.take();
        return taken ? json{{"ok", true}} : refusal(taken.error());
    }
    if (what == "sshd") {
        if (const auto started = sshd_.start(); !started) {
            return refusal(started.error());
        }
        return {{"ok", true}};
    }
    if (what == "ready") {
        sshd_.set_ready_line(question.value("line", ""));
        return {{"ok", true}};
    }
    if (what == "guard") {
        guards_.add(question.value("job", ""), peer.pid, question.value("patience_ms", std::int64_t{0}),
                    std::move(descriptor), std::move(peer.socket));
        return {{"ok", true}};
    }
    if (what == "give_up") {
        guards_.give_up(question.value("job", ""));
        return {{"ok", true}};
    }
    if (what == "detached") {
        guards_.is_detached(question.value("job", ""));
        return {{"ok", true}};
    }
    return refusal(Error{.kind = ErrorKind::protocol, .message = "unknown question"});
}

// PID 1 waits for nobody.
void Init::let_in(int listener) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (!socket.open() || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        credentials.uid != 0) {
        return;
    }
    if (peers_.size() == most_questions) {
        const auto oldest = std::ranges::min_element(
            peers_, {}, [](const auto& peer) { return peer.second.limit; }); // timers are numbered
        drop(oldest->first);
    }
    const int number = socket.get();
    const auto limit = loop_.after(question_limit_ms, [this, number] { drop(number); });
    peers_[number] = {.socket = std::move(socket), .pid = credentials.pid, .limit = limit};
    loop_.watch(number, POLLIN, [this, number](short) { hear(number); });
}

void Init::drop(int number) {
    loop_.cancel(peers_.at(number).limit);
    loop_.forget(number);
    peers_.erase(number);
}

void Init::hear(int number) {
    auto received = receive_with_descriptor(number, 128U << 10U);
    auto peer = std::move(peers_.at(number));
    drop(number);
    if (received.text.empty()) {
        return;
    }
    const auto question = wire::parse_object(received.text, "the question");
    std::string reply;
    try {
        const auto told =
            question ? answer(*question, peer, std::move(received.descriptor)) : refusal(question.error());
        reply = wire::dump(told);
    } catch (const json::exception& error) { // a value of a wrong type
        reply = wire::dump(refusal(Error{.kind = ErrorKind::protocol, .message = error.what()}));
    }
    (void)::send(peer.socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Init::reap() {
    loop_.cancel(reap_);
    const bool more = reap_children([this](pid_t pid, int status) {
        sshd_.on_exit(pid, exit_status(status));
        guards_.on_exit(pid);
        store_.on_exit(pid);
        if (first_join_) {
            first_join_->on_exit(pid);
        }
    });
    if (more) {
        reap_ = loop_.after(0, [this] { reap(); });
    }
}

template <class Condition>
void Init::reap_until(Condition condition, std::int64_t limit_ms) {
    const auto deadline = monotonic_ms() + limit_ms;
    while (!condition() && monotonic_ms() < deadline) {
        pollfd nothing{.fd = -1, .events = 0, .revents = 0};
        ::poll(&nothing, 1, 20);
        reap();
    }
}

// kill(-1) reaches every process of the container, those that came through exec included, and not the caller.
// Detached jobs end first: their other nodes hear of it through processes of this one.
void Init::end() {
    sshd_.give_up();
    guards_.stop_detached();
    reap_until([this] { return !guards_.has_detached(); }, supervisors_grace_ms);
    ::kill(-1, SIGTERM);
    ::kill(-1, SIGCONT);
    reap_until([] { return alone_in_container(); }, stop_grace_ms);
    ::kill(-1, SIGKILL);
    reap();
}

int Init::run() {
    ::umask(022);
    ::signal(SIGPIPE, SIG_IGN);
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
    auto signal_fd = take_signals(signals);
    if (!signal_fd) {
        log_line(wire::error_line(signal_fd.error()));
        return 1;
    }
    if (const auto prepared = prepare_container(); !prepared) {
        log_line(wire::error_line(prepared.error()));
        return 1;
    }
    auto listener = listen_unix(paths().init_socket, SOCK_SEQPACKET, 0600, {});
    if (!listener) {
        log_line(wire::error_line(listener.error()));
        return 1;
    }
    loop_.watch(listener->get(), POLLIN, [&](short) { let_in(listener->get()); });
    loop_.watch(signal_fd->get(), POLLIN, [&](short) {
        signalfd_siginfo info{};
        for (int i = 0; i < most_signals && ::read(signal_fd->get(), &info, sizeof info) > 0; ++i) {
            if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT) {
                loop_.stop();
            }
        }
        reap();
    });
    log_line("{\"type\":\"starting\"}\n");
    first_join_.emplace(loop_);
    loop_.run();
    log_line("{\"type\":\"stopping\"}\n");
    end();
    return 0;
}

} // namespace

int run_init() {
    if (::getpid() != 1) {
        (void)write_all(
            STDERR_FILENO,
            "dockdist-init: without a command it is the first process of a container, and this is process " +
                std::to_string(::getpid()) + "\n");
        return 2;
    }
    return Init().run();
}

} // namespace dockdist::node
