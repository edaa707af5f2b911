#include "node/worker_lines.hpp"

#include "core/text.hpp"
#include "node/link_socket.hpp"
#include "node/os.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {

std::vector<std::string> worker_lines(std::size_t count, std::size_t at_once,
                                      const std::function<std::string(std::size_t)>& work) {
    auto pipe = make_pipe();
    if (!pipe) {
        return {};
    }
    const int self = ::getpid();
    const auto workers = std::min(count, at_once);
    std::vector<pid_t> children;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        const auto child = ::fork();
        if (child == 0) {
            become_link_child(self);
            for (auto i = worker; i < count; i += workers) {
                // One write: lines of several processes do not mix.
                (void)write_all(pipe->write.get(), work(i) + "\n");
            }
            ::_exit(0);
        }
        if (child > 0) {
            children.push_back(child);
        }
    }
    pipe->write.reset();
    std::string told;
    char bytes[65536];
    while (true) {
        const auto got = ::read(pipe->read.get(), bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        told.append(bytes, static_cast<std::size_t>(got));
    }
    for (const auto child : children) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    auto lines = split(told, '\n');
    std::erase(lines, "");
    return lines;
}

} // namespace dockdist::node
