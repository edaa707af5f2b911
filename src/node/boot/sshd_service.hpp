// Starts sshd, keeps its last words, and starts it again when it ends.
#pragma once

#include "node/system/last_words.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <string>

namespace dockdist::node {

class SshdService {
public:
    // `log` writes one line to the container's log.
    SshdService(Loop& loop, std::function<void(const std::string& line)> log)
        : loop_(loop), log_(std::move(log)), last_words_(loop, kept_words) {}

    // Starts it with the sshd_config that is there now; an sshd that runs with the same one is left alone.
    // Sessions that are open stay open. A configuration that sshd refuses is an error with sshd's own words.
    Status start();
    void give_up(); // no more restarts
    void on_exit(pid_t pid, ExitStatus status);
    // The line that tells the client that this node is ready: logged now, and again after a restart.
    void set_ready_line(std::string line);

    pid_t pid() const { return pid_; }
    const std::string& last_words() const { return last_words_.text(); }

private:
    Status spawn();
    void restart_later();

    Loop& loop_;
    std::function<void(const std::string& line)> log_;
    LastWords last_words_;
    std::string running_config_{};
    std::string ready_line_{};
    Loop::Timer timer_ = 0;
    std::int64_t delay_ms_ = first_delay_ms;
    std::int64_t started_at_ = 0;
    pid_t pid_ = 0;
    bool wanted_ = false;
    bool replacing_ = false;

    static constexpr std::size_t kept_words = 4096;
    static constexpr std::int64_t first_delay_ms = 100;
    static constexpr std::int64_t longest_delay_ms = 10000;
    static constexpr std::int64_t settled_ms = 500; // sshd that cannot listen has ended by then
};

} // namespace dockdist::node
