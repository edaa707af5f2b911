#include "node/job/rank/rank_spawner.hpp"

#include "node/job/rank/rank_environment.hpp"
#include "node/job/rank/rank_shim.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

struct Numbers {
    int count = 0, first = 0, world = 0;
    bool leads = false; // the first one: its good end is the command's, and the others are servers
};

std::optional<Numbers> read_numbers(const std::vector<std::string>& arguments) {
    Numbers numbers;
    const std::array into{&numbers.count, &numbers.first, &numbers.world};
    numbers.leads = arguments.size() == into.size() + 1 && arguments.back() == "leads";
    if (arguments.size() != into.size() + (numbers.leads ? 1 : 0)) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < into.size(); ++i) {
        const auto number = whole_number<int>(arguments[i]);
        if (!number) {
            return std::nullopt;
        }
        *into[i] = *number;
    }
    const bool fits =
        numbers.count >= 1 && numbers.first >= 0 && numbers.first <= numbers.world - numbers.count;
    return fits ? std::optional(numbers) : std::nullopt;
}

Environment environment_of(const Numbers& numbers, int local_rank) {
    auto environment = Environment::own();
    number_rank(environment, {.rank = numbers.first + local_rank,
                              .local_rank = local_rank,
                              .world = numbers.world,
                              .local_world = numbers.count,
                              .cpus = own_cpus()});
    return environment;
}

class Spawner {
public:
    int run(const Numbers& numbers);

private:
    bool begin(const Numbers& numbers, int local_rank);
    void hand_on(int signal) const;
    void hear_signals();
    void reap();
    void failed(int code);

    Fd signals_{};
    std::set<pid_t> shims_{};
    pid_t leader_ = -1; // none
    bool leader_done_ = false;
    int code_ = 0;
    bool all_told_ = false;
};

int Spawner::run(const Numbers& numbers) {
    constexpr std::array signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    auto taken = take_signals(signals);
    if (!taken) {
        (void)write_all(STDERR_FILENO, "dockdist-init ranks: " + taken.error().message + "\n");
        return exit_codes::cannot_start;
    }
    signals_ = std::move(*taken);
    for (int i = 0; i < numbers.count && code_ == 0; ++i) {
        if (!begin(numbers, i)) {
            failed(exit_codes::cannot_start);
        }
    }
    while (!shims_.empty() && !leader_done_) {
        pollfd ready{.fd = signals_.get(), .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, -1);
        hear_signals();
        reap();
    }
    return code_;
}

bool Spawner::begin(const Numbers& numbers, int local_rank) {
    const pid_t own = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        (void)write_all(STDERR_FILENO,
                        "dockdist-init ranks: " + system_error("cannot start a rank", errno).message + "\n");
        return false;
    }
    if (child == 0) {
        ::setpgid(0, 0);      // a signal to the launcher's group is handed on, and must not come twice
        if (!numbers.leads) { // else the servers are the supervisor's to end
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
        signals_.reset();
        ::_exit(::getppid() == own ? run_rank(environment_of(numbers, local_rank)) : 137);
    }
    shims_.insert(child);
    if (numbers.leads && local_rank == 0) {
        leader_ = child;
    }
    return true;
}

void Spawner::hand_on(int signal) const {
    for (const auto shim : shims_) {
        ::kill(shim, signal);
    }
}

// What the whole job gets anyway is not handed on: a second TERM may mean "at once".
void Spawner::hear_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const bool for_all = is_of_an_end(info);
        all_told_ = all_told_ || for_all;
        if (info.ssi_signo != SIGCHLD && !for_all) {
            hand_on(static_cast<int>(info.ssi_signo));
        }
    }
}

void Spawner::reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
        shims_.erase(pid);
        if (const auto code = exit_status(status).code; code != 0) {
            failed(code);
        } else if (pid == leader_ && code_ == 0) {
            leader_done_ = true;
        }
    }
}

void Spawner::failed(int code) {
    if (code_ == 0) {
        code_ = code;
        if (!all_told_) {
            hand_on(SIGTERM);
        }
    }
}

} // namespace

int run_ranks(const std::vector<std::string>& arguments) {
    const auto numbers = read_numbers(arguments);
    if (!numbers) {
        (void)write_all(STDERR_FILENO, "usage: dockdist-init ranks COUNT FIRST WORLD [leads]\n");
        return 2;
    }
    return Spawner().run(*numbers);
}

} // namespace dockdist::node
