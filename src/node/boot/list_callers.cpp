#include "node/boot/list_callers.hpp"

#include "node/system/unix_socket.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t most_callers = 8; // of one giver, and of one that has lost its connection meanwhile
constexpr std::string_view another_list = "?"; // from a porter, in place of the list

// Waits for the digest, and lets in who comes then.
[[noreturn]] void run_porter(int listener, int input, int output, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    const int null = ::open("/dev/null", O_RDWR); // the client's streams are the join's
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
    std::string digest;
    for (char c = 0; ::getppid() == parent && ::read(input, &c, 1) == 1 && c != '\n';) {
        digest += c;
    }
    Loop loop;
    ListCallers callers(loop, digest, [&](const std::string& text) {
        (void)write_all(output, (text.empty() ? std::string(another_list) : text) + "\n");
    });
    loop.watch(listener, POLLIN, [&](short) {
        Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.open() && is_our_user(socket.get())) {
            callers.let_in(std::move(socket));
        }
    });
    if (!digest.empty() && ::getppid() == parent) {
        loop.run();
    }
    ::_exit(0);
}

} // namespace

ListCallers::~ListCallers() {
    for (const auto& [number, one] : callers_) {
        loop_.forget(number);
    }
}

void ListCallers::let_in(Fd from, Fd to) {
    if (!from.open() || callers_.size() >= most_callers) {
        return;
    }
    const int number = from.get();
    callers_[number] = {.from = std::move(from), .to = std::move(to)};
    loop_.watch(number, POLLIN, [this, number](short) { hear(number); });
    hear(number); // it may be gone
}

void ListCallers::hear(int number) {
    auto& one = callers_.at(number);
    std::array<char, 65536> piece{};
    const auto count = ::read(number, piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count > 0 && one.text.size() <= wire::max_line) {
        one.text.append(piece.data(), static_cast<std::size_t>(count));
        return;
    }
    const bool right = count == 0 && sha256_hex(one.text) == sha256_;
    if (right) {
        (void)::write(one.to.open() ? one.to.get() : number, "\n", 1);
    }
    auto text = right ? std::move(one.text) : std::string();
    loop_.forget(number);
    callers_.erase(number);
    const auto on_end = on_end_; // it may destroy this object
    on_end(std::move(text));
}

Porter::Porter(Fd listener) {
    auto to_child = make_pipe();
    auto from_child = make_pipe();
    const pid_t parent = ::getpid();
    child_ = to_child && from_child ? ::fork() : -1;
    if (child_ == 0) {
        to_child->write.reset();
        run_porter(listener.get(), to_child->read.get(), from_child->write.get(), parent);
    }
    if (child_ > 0) {
        to_child_ = std::move(to_child->write);
        from_child_ = std::move(from_child->read);
        set_nonblocking(from_child_.get());
    }
}

// One that hangs may do so in the kernel: it is not waited for.
Porter::~Porter() {
    if (loop_ != nullptr) {
        loop_->forget(from_child_.get());
    }
    if (child_ > 0) {
        ::kill(child_, SIGKILL);
        (void)::waitpid(child_, nullptr, WNOHANG);
    }
}

void Porter::hear(Loop& loop, const std::string& sha256, std::function<void(std::string text)> on_end) {
    if (child_ > 0) {
        loop_ = &loop;
        on_end_ = std::move(on_end);
        loop.watch(from_child_.get(), POLLIN, [this](short) { hear(); });
        (void)write_all(to_child_.get(), sha256 + "\n");
    }
}

void Porter::hear() {
    std::array<char, 65536> piece{};
    const auto count = ::read(from_child_.get(), piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count <= 0) {
        return loop_->forget(from_child_.get());
    }
    heard_.append(piece.data(), static_cast<std::size_t>(count));
    for (auto end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
        auto text = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        if (text != another_list) {
            const auto on_end = on_end_; // it may destroy this object
            return on_end(std::move(text));
        }
        on_end_("");
    }
}

} // namespace dockdist::node
