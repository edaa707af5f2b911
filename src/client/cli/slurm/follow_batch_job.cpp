#include "client/cli/slurm/follow_batch_job.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/pause.hpp"
#include "client/cli/scontrol.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"
#include "shared/core/scontrol_records.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <utility>

namespace dockdist {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds often{1};  // between two questions to slurmctld, of a job that is young
constexpr std::chrono::seconds rarely{5}; // or old
constexpr std::chrono::minutes young{2};
constexpr std::chrono::minutes longest_silence{3};      // of slurmctld, which is restarted now and then
constexpr std::chrono::milliseconds between_reads{500}; // of its output: on NFS nothing tells of it
constexpr std::chrono::minutes longest_cancel{2};       // Slurm kills what does not end within its KillWait

struct BatchState {
    std::string state{}, reason{}, output{}; // the last: the file that it writes to
    int code = 0;
    int signal = 0;
};

BatchState read_state(const std::string& text) {
    const auto lines = split(text, '\n');
    BatchState read{.state = scontrol_value(lines, "JobState="),
                    .reason = scontrol_value(lines, "JobState=", "Reason="),
                    .output = scontrol_rest(lines, "StdOut=")};
    const auto exit = scontrol_value(lines, "Requeue=", "ExitCode="); // CODE:SIGNAL
    const auto colon = std::min(exit.find(':'), exit.size());
    read.code = whole_number<int>(std::string_view(exit).substr(0, colon)).value_or(0);
    read.signal =
        whole_number<int>(std::string_view(exit).substr(std::min(colon + 1, exit.size()))).value_or(0);
    return read;
}

bool is_waiting(const std::string& state) {
    static constexpr std::array<std::string_view, 5> states{"PENDING", "CONFIGURING", "REQUEUED",
                                                            "REQUEUE_HOLD", "RESIZING"};
    return std::ranges::find(states, state) != states.end();
}

bool is_over(const std::string& state) {
    static constexpr std::array<std::string_view, 5> states{"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED",
                                                            "SIGNALING"};
    return !is_waiting(state) && std::ranges::find(states, state) == states.end();
}

// Its own exit code where it has ended by itself.
int exit_code_of(const BatchState& ended) {
    if (ended.state == "COMPLETED" || ended.state == "FAILED") {
        return ended.signal != 0 ? exit_codes::by_signal(ended.signal) : ended.code;
    }
    return ended.state == "TIMEOUT" || ended.state == "DEADLINE" ? exit_codes::timed_out
                                                                 : exit_codes::own_failure;
}

// Passes on what a file that grows has got.
class OutputTail {
public:
    explicit OutputTail(const Context& context) : context_(context) {}

    void read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file.seekg(offset_)) {
            return;
        }
        std::array<char, 65536> piece{};
        while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
            offset_ += file.gcount();
            context_.print({piece.data(), static_cast<std::size_t>(file.gcount())});
        }
    }

private:
    const Context& context_;
    std::streamoff offset_ = 0;
};

class Follower {
public:
    Follower(Context& context, std::string id) : context_(context), id_(std::move(id)), tail_(context) {}

    Task<int> follow() {
        const auto begin = steady_clock::now();
        auto heard = begin;
        std::string told;
        while (true) {
            const auto text = co_await ask_slurm(context_.executor, {"scontrol", "show", "job", id_});
            if (!text && steady_clock::now() - heard < longest_silence) {
                co_await pause_for(rarely);
                continue;
            }
            if (!text) {
                co_return lost(text.error());
            }
            heard = steady_clock::now();
            const auto now = read_state(*text);
            if (is_waiting(now.state)) {
                const auto why = now.reason.empty() || now.reason == "None" ? "" : " (" + now.reason + ")";
                tell(told, printable(fmt::format("waits: {}{}", now.state, why)));
            } else if (!is_over(now.state)) {
                tell(told, fmt::format("runs; its output is {}", printable(now.output)));
            }
            tail_.read(now.output);
            if (is_over(now.state)) {
                let_go_ = true;
                co_return end(now);
            }
            const auto pause = steady_clock::now() - begin < young ? often : rarely;
            for (const auto until = steady_clock::now() + pause; steady_clock::now() < until;) {
                co_await pause_for(between_reads);
                tail_.read(now.output);
            }
        }
    }

    // After an interrupt.
    Task<void> leave() {
        if (let_go_) {
            co_return;
        }
        if (context_.interrupts->wants_to_let_go()) {
            note(fmt::format("goes on; `scancel {}` ends it", id_));
            co_return;
        }
        note("is being cancelled");
        const auto cancelled = co_await ask_slurm(context_.executor, {"scancel", id_});
        if (!cancelled) {
            context_.fail(cancelled.error());
            co_return;
        }
        for (const auto until = steady_clock::now() + longest_cancel; steady_clock::now() < until;) {
            const auto text = co_await ask_slurm(context_.executor, {"scontrol", "show", "job", id_});
            if (!text) {
                co_return;
            }
            const auto now = read_state(*text);
            tail_.read(now.output);
            if (is_over(now.state)) {
                co_return;
            }
            co_await pause_for(between_reads);
        }
        note(fmt::format("does not end: `scontrol show job {}`", id_));
    }

private:
    void note(const std::string& text) {
        context_.reporter->on(
            {.kind = Event::Kind::note, .text = fmt::format("Slurm's job {}: {}", id_, text)});
    }

    void tell(std::string& told, const std::string& text) {
        if (told != text) {
            note(text);
            told = text;
        }
    }

    // A controller that is busy or restarted is no reason to end anybody's job.
    int lost(Error error) {
        let_go_ = true;
        error.hint =
            fmt::format("the job goes on; `scontrol show job {0}` shows it, `scancel {0}` ends it", id_);
        error.where = "Slurm's job " + id_;
        context_.fail(error);
        return exit_codes::own_failure;
    }

    int end(const BatchState& ended) {
        const int code = exit_code_of(ended);
        if (code != 0) {
            const bool own = ended.state == "FAILED";
            context_.fail({ErrorKind::job, "Slurm's job " + id_,
                           own ? fmt::format("failed with exit code {}", code)
                               : fmt::format("Slurm has ended it: {}{}", printable(ended.state),
                                             ended.reason.empty() || ended.reason == "None"
                                                 ? ""
                                                 : " (" + printable(ended.reason) + ")"),
                           fmt::format("its output is {}", printable(ended.output))});
        }
        return code;
    }

    Context& context_;
    std::string id_;
    OutputTail tail_;
    bool let_go_ = false; // it is over, or nobody can tell
};

} // namespace

Task<int> follow_batch_job(Context& context, std::string id) {
    context.interrupts->let_go_on_hangup();
    Follower follower(context, std::move(id));
    co_return co_await with_cleanup(follower.follow(), [&] { return follower.leave(); });
}

} // namespace dockdist
