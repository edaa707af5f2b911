#include "node/system/job_guard.hpp"

#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t least_patience_ms = 10000, most_patience_ms = 60000;
constexpr int looks_in_patience = 8; // by PID 1's own clock: where both were frozen, none is missed
constexpr int most_beats = 16;       // that are heard in one go
constexpr char beat_word = 'b', over_word = 'o';
constexpr std::int64_t guard_grace_ms = 2000;
constexpr std::int64_t ending_limit_ms = 20000;
constexpr std::int64_t stuck_pause_ms = 5000; // between attempts at what sleeps in the kernel
constexpr std::int64_t longest_stuck_pause_ms = 300000;

// One piece of text, with room for one descriptor beside it.
struct SocketMessage {
    explicit SocketMessage(std::string& text) : part{.iov_base = text.data(), .iov_len = text.size()} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
    }
    SocketMessage(const SocketMessage&) = delete;
    SocketMessage& operator=(const SocketMessage&) = delete;

    iovec part;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
};

bool send_with_descriptor(int socket, std::string text, int descriptor) {
    SocketMessage message(text);
    if (descriptor < 0) {
        message.header.msg_controllen = 0;
    } else {
        auto* rights = CMSG_FIRSTHDR(&message.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    return ::sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// The line to PID 1, with that said on it; none where nobody is there.
Fd tell_init(const nlohmann::json& words, int descriptor = -1) {
    auto line = connect_unix(paths().init_socket, SOCK_SEQPACKET);
    return line && send_with_descriptor(line->get(), wire::dump(words), descriptor) ? std::move(*line) : Fd();
}

} // namespace

std::int64_t patience_with(std::int64_t lease_ms) {
    return std::clamp(lease_ms, least_patience_ms, most_patience_ms);
}

bool give_up_job(const std::string& job) {
    return tell_init({{"do", "give_up"}, {"job", job}}).open();
}

// What is said is PID 1's as soon as it is sent: also where this process is killed before it is heard.
GuardedJob::GuardedJob(Loop& loop, std::string job, std::int64_t lease_ms, int lock)
    : loop_(loop), job_(std::move(job)), patience_ms_(patience_with(lease_ms)),
      line_(tell_init({{"do", "guard"}, {"job", job_}, {"patience_ms", patience_ms_}}, lock)) {
    beat();
}

GuardedJob::~GuardedJob() {
    loop_.cancel(timer_);
}

void GuardedJob::beat() {
    if (line_.open()) {
        (void)::send(line_.get(), &beat_word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        timer_ = loop_.after(patience_ms_ / looks_in_patience, [this] { beat(); });
    }
}

void GuardedJob::is_detached() const {
    (void)tell_init({{"do", "detached"}, {"job", job_}});
}

void GuardedJob::is_over() const {
    if (line_.open()) {
        (void)::send(line_.get(), &over_word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

Received receive_with_descriptor(int socket, std::size_t limit) {
    Received received{.text = std::string(limit, '\0')};
    SocketMessage message(received.text);
    const auto count = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    received.text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    const auto* rights = count > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
        received.descriptor = Fd(descriptor);
    }
    return received;
}

void JobGuards::add(const std::string& job, pid_t supervisor, std::int64_t patience_ms, Fd lock, Fd line) {
    auto& guard = guards_.emplace_back();
    guard.job = job;
    guard.supervisor = supervisor;
    guard.patience_ms = std::clamp(patience_ms, least_patience_ms, most_patience_ms);
    guard.lock = std::move(lock);
    guard.line = std::move(line);
    if (::kill(supervisor, 0) != 0 && errno == ESRCH) {
        return on_exit(supervisor);
    }
    loop_.watch(guard.line.get(), POLLIN, [this, &guard](short) { hear(guard); });
    look(guard);
}

void JobGuards::hear(Guard& guard) {
    char word = 0;
    ssize_t count = 1;
    for (int i = 0; i < most_beats && count > 0; ++i) {
        count = ::recv(guard.line.get(), &word, sizeof word, MSG_DONTWAIT);
        guard.silent_looks = count > 0 ? 0 : guard.silent_looks;
        guard.over = guard.over || (count > 0 && word == over_word);
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_.forget(guard.line.get()); // it ends, or is silent from now on
    }
}

void JobGuards::look(Guard& guard) {
    if (++guard.silent_looks > looks_in_patience + 1) {
        return give_up(guard);
    }
    guard.timer = loop_.after(guard.patience_ms / looks_in_patience, [this, &guard] { look(guard); });
}

void JobGuards::give_up(const std::string& job) {
    for (auto& guard : guards_) {
        if (guard.job == job && guard.supervisor > 0) {
            give_up(guard);
        }
    }
}

// The descendants of the supervisor are known only while it is there. It goes last, and with it the others'
// way to tell whose they are.
void JobGuards::give_up(Guard& guard) {
    loop_.cancel(guard.timer);
    if (guard.ending) {
        return;
    }
    const auto end_supervisor = [&guard] {
        if (guard.supervisor > 0) {
            ::kill(guard.supervisor, SIGKILL);
        }
    };
    guard.ending =
        std::make_unique<HelperRun>(loop_,
                                    toolkit_helper(paths().own, {"dockdist-init", "job", "end", guard.job,
                                                                 std::to_string(guard.supervisor)}),
                                    ending_limit_ms, [end_supervisor](const Finished&) { end_supervisor(); });
    if (!guard.ending->has_started()) {
        end_supervisor();
    }
}

void JobGuards::on_exit(pid_t pid) {
    for (auto& guard : guards_) {
        if (guard.supervisor == pid) {
            hear(guard);
            guard.supervisor = 0;
            loop_.cancel(guard.timer);
            loop_.forget(guard.line.get());
            guard.line.reset();
            guard.over ? ended(guard, true) : end_the_rest(guard);
        }
    }
}

void JobGuards::is_detached(const std::string& job) {
    for (auto& guard : guards_) {
        guard.detached = guard.detached || guard.job == job;
    }
}

void JobGuards::stop_detached() const {
    for (const auto& guard : guards_) {
        if (guard.detached && guard.supervisor > 0) {
            ::kill(guard.supervisor, SIGTERM);
        }
    }
}

bool JobGuards::has_detached() const {
    return std::ranges::any_of(guards_,
                               [](const Guard& guard) { return guard.detached && guard.supervisor > 0; });
}

// Usually there is nothing.
void JobGuards::end_the_rest(Guard& guard) {
    guard.ending = std::make_unique<HelperRun>(
        loop_, toolkit_helper(paths().own, {"dockdist-init", "job", "end", guard.job}), ending_limit_ms,
        [this, &guard](const Finished& finished) {
            finished.code == exit_codes::not_found ? end_it_here(guard) : ended(guard, finished.code == 0);
        });
    if (!guard.ending->has_started()) { // the job has made as many processes as there may be
        guard.ending.reset();
        end_it_here(guard);
    }
}

void JobGuards::end_it_here(Guard& guard) {
    guard.killer = std::make_unique<ProcessKiller>(
        loop_, ProcessScope{.mark = guard.job},
        [this, &guard](const std::vector<pid_t>& left) { ended(guard, left.empty()); });
    guard.killer->begin(guard_grace_ms);
}

// Later: this is called from what has ended it.
void JobGuards::ended(Guard& guard, bool nothing_left) {
    guard.pause_ms = std::clamp(guard.pause_ms * 2, stuck_pause_ms, longest_stuck_pause_ms);
    guard.timer = loop_.after(nothing_left ? 0 : guard.pause_ms, [this, &guard, nothing_left] {
        if (!nothing_left) {
            return end_the_rest(guard);
        }
        guards_.remove_if([&](const Guard& one) { return &one == &guard; });
    });
}

} // namespace dockdist::node
