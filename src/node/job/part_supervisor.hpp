// The supervisor's own state: how a part begins and obeys stands in supervisor.cpp, how an attempt and the
// part end in supervisor_end.cpp.
#pragma once

#include "node/gpus/gpu_fault_look.hpp"
#include "node/job/detached/detached_part.hpp"
#include "node/job/follower_list.hpp"
#include "node/job/job_recorder.hpp"
#include "node/job/log/output_pipes.hpp"
#include "node/job/rank/rank_list.hpp"
#include "node/job/ready_watch.hpp"
#include "node/job/silence_watch.hpp"
#include "node/job/still_watch.hpp"
#include "node/job/supervisor.hpp"
#include "node/session/job_part.hpp"
#include "node/system/job_guard.hpp"
#include "node/system/oom.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/program.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

class Supervisor final : public SupervisedPart {
public:
    Supervisor(Loop& loop, PreparedJob job)
        : loop_(loop), job_(std::move(job)),
          followers_(loop_, std::move(job_.control), job_.summary.lease_ms) {}

    void begin() override;
    bool is_gone() const override { return finished_; }

private:
    void obey(const wire::JobCommand& order, bool again);
    void tell(wire::JobEvent event);
    void tell_stacks(std::int64_t pause_ms);
    void keep_hang(const wire::JobCommand& order);
    StillWatch::Reading reading() const;
    void note(const std::string& line) { job_.log.append(2, -1, "dockdist: " + line + "\n"); }
    void start_command();
    void hear_start();
    void has_started();
    void is_ready(const std::string& address);
    void cannot_start(const ProgramError& error, const Cause& cause = {});
    void on_signal();
    void reap();
    void command_ended(ExitStatus status);
    void failed(wire::JobFailure failure);
    void is_stopped_for(const std::string& reason);
    void stop(const std::string& reason, std::int64_t grace_ms, int signal = 0);
    void halt(std::int64_t grace_ms);
    void over();
    void begin(const wire::JobCommand& order);
    void watch_disk();
    void detach();
    void lease_is_over(const std::string& why);
    void pause(const std::string& why);
    void time_is_over();
    // What is to follow when the processes are gone.
    enum class Then { wait, exit };
    void sweep(Sweep::What what, std::int64_t grace_ms, Then then, int signal = 0);
    Ending ending(std::int64_t grace_ms, int signal) const;
    void swept(const std::vector<pid_t>& left);
    void drain_command() {
        outputs_.drain(out_, 1, -1);
        outputs_.drain(err_, 2, -1);
    }
    void collect(const std::vector<pid_t>& left);
    void wait_for_orders();
    void exit();

    Loop& loop_;
    PreparedJob job_;
    FollowerList followers_;
    Sweep sweep_{loop_, job_.summary.job, [this](const std::vector<pid_t>& left) { swept(left); }};
    Then then_ = Then::wait;
    std::unique_ptr<DetachedPart> cluster_{}; // of a detached job
    std::vector<wire::JobEvent> told_{};      // of this attempt, for a coordinator that begins later
    Fd signals_{};
    OutputPipes outputs_{loop_, job_.log};
    ReadyWatch ready_{loop_};
    SilenceWatch silence_{loop_, job_.log, job_.start.policy.stall_ms};
    StillWatch still_{loop_, job_.start.policy.suspect_ms, [this] { return reading(); }};
    JobRecorder recorder_{loop_, job_.summary};
    GpuFaultLook gpu_faults_{loop_};
    Fd out_{}, err_{}; // of the command
    RankList ranks_{loop_, outputs_, std::move(job_.ranks), scratch_folder(job_.summary.job),
                    job_.most_ranks};
    std::int64_t oom_kills_before_ = oom_kills();
    pid_t command_ = 0;
    Fd start_problems_{}; // of the command, until it runs
    std::string start_problem_{};
    Loop::Timer reap_ = 0;
    bool command_done_ = false;
    bool stopping_ = false;         // what ends now is ended by us
    bool ends_for_failure_ = false; // of a rank; nobody else decides that
    bool stop_told_ = false;
    bool waiting_ = false;                     // for orders: nothing of the attempt is left
    std::optional<wire::JobCommand> wanted_{}; // begin, ordered while the attempt before was still ending
    bool finished_ = false;
    bool cannot_end_ = false; // processes of it sleep in the kernel
    std::unique_ptr<GuardedJob> guarded_{};
};

} // namespace dockdist::node
