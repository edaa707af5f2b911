#include "node/system/side_by_side.hpp"

#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest = 2U << 20U; // of a part's result

struct Running {
    pid_t pid = 0;
    Fd output{}; // closed when the part has ended
    std::string text{};
    bool late = false;
};

[[noreturn]] void run_child(const Part& part, int output, pid_t parent) {
    reset_signals();
    ::setpgid(0, 0); // it is ended together with what it started
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(1);
    }
    ::_exit(write_all(output, wire::dump(part.work())) ? 0 : 1);
}

Running start(const Part& part) {
    Running running;
    auto pipe = make_pipe();
    const pid_t own = ::getpid();
    const pid_t child = pipe ? ::fork() : -1;
    if (child < 0) {
        running.text = wire::dump(wire::failure_to_json(system_error("cannot start a process", errno)));
        return running;
    }
    if (child == 0) {
        run_child(part, pipe->write.get(), own);
    }
    ::setpgid(child, child);
    running.pid = child;
    running.output = std::move(pipe->read);
    return running;
}

void read_some(Running& running) {
    char buffer[65536];
    const auto count = ::read(running.output.get(), buffer, sizeof buffer);
    if (count > 0 && running.text.size() < longest) {
        running.text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || (count < 0 && errno != EINTR)) {
        running.output.reset();
    }
}

void read_until(std::vector<Running>& all, std::int64_t deadline) {
    while (true) {
        std::vector<pollfd> ready;
        std::vector<Running*> readers;
        for (auto& running : all) {
            if (running.output.open()) {
                ready.push_back({.fd = running.output.get(), .events = POLLIN, .revents = 0});
                readers.push_back(&running);
            }
        }
        const auto left = deadline - monotonic_ms();
        if (ready.empty() || left <= 0 ||
            (::poll(ready.data(), ready.size(), static_cast<int>(left)) < 0 && errno != EINTR)) {
            return;
        }
        for (std::size_t i = 0; i < ready.size(); ++i) {
            if (ready[i].revents != 0) {
                read_some(*readers[i]);
            }
        }
    }
}

void end(Running& running) {
    running.late = running.output.open();
    if (running.pid == 0) {
        return;
    }
    ::kill(-running.pid, SIGKILL);
    // What hangs in the kernel does not die: it is not waited for.
    ::waitpid(running.pid, nullptr, running.late ? WNOHANG : 0);
}

nlohmann::json result_of(const Running& running, int limit_ms) {
    if (!running.late) {
        auto value = nlohmann::json::parse(running.text, nullptr, false);
        if (!value.is_discarded()) {
            return value;
        }
    }
    const Error error{.kind = running.late ? ErrorKind::timeout : ErrorKind::node,
                      .message = running.late ? "no end within " + std::to_string(limit_ms / 1000) + " s"
                                              : "ended without an answer"};
    return wire::failure_to_json(error);
}

} // namespace

nlohmann::json side_by_side(const std::vector<Part>& parts, int limit_ms) {
    const auto deadline = monotonic_ms() + limit_ms;
    std::vector<Running> all;
    all.reserve(parts.size());
    std::ranges::transform(parts, std::back_inserter(all), start);
    read_until(all, deadline);
    auto results = nlohmann::json::object();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        end(all[i]);
        results[parts[i].name] = result_of(all[i], limit_ms);
    }
    return results;
}

nlohmann::json shared_out(std::size_t count, std::size_t at_once,
                          const std::function<nlohmann::json(std::size_t)>& work, int limit_ms) {
    const auto workers = std::min(count, at_once);
    std::vector<Part> parts;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        parts.push_back({std::to_string(worker), [&work, worker, workers, count] {
                             auto done = nlohmann::json::array();
                             for (auto i = worker; i < count; i += workers) {
                                 done.push_back(work(i));
                             }
                             return done;
                         }});
    }
    auto all = nlohmann::json::array();
    for (const auto& some : side_by_side(parts, limit_ms)) {
        if (some.is_array()) {
            std::ranges::copy(some, std::back_inserter(all));
        }
    }
    return all;
}

} // namespace dockdist::node
