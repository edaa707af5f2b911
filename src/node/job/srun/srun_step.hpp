// What srun runs: its tasks on all nodes, from the first ssh to the last task's end.
#pragma once

#include "node/job/srun/srun_environment.hpp"
#include "node/job/srun/srun_layout.hpp"
#include "node/job/srun/srun_output.hpp"
#include "node/job/srun/step_peer.hpp"
#include "node/session/job_part.hpp"
#include "node/system/loop.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

class SrunStep {
public:
    // `nodes`: where how many tasks run; `interfaces`: theirs, by name; `part`: of the job that srun is in.
    SrunStep(SrunOptions options, std::vector<SrunNode> nodes, std::map<std::string, std::string> interfaces,
             std::optional<JobPart> part);
    // srun's exit code.
    int run();

private:
    struct Node {
        SrunNode layout{};
        std::unique_ptr<StepPeer> peer{};
        StepPrepared prepared{};
        int first_rank = 0;
        int left = 0; // tasks that have not ended
        bool is_prepared = false;
        bool closed = false;
    };
    void connect(Node& node);
    void hear(Node& node, const StepMessage& message);
    void show(const Node& node, const wire::Frame& frame);
    void closed(Node& node, const std::string& why);
    void start_tasks();
    std::map<std::string, std::string> variables_of(std::size_t node,
                                                    const std::map<std::string, std::string>& launch) const;
    void task_ended(Node& node, const TaskEnd& end);
    void open_input();
    void read_input(int fd);
    void watch_input();
    void hear_signals();
    void interrupt();
    void end_all(std::int64_t grace_ms);
    void job_ends(int signal);
    void give_up();
    void fail(const std::string& message);
    void tell_all(const StepMessage& message);

    SrunOptions options_;
    std::optional<JobPart> part_;
    std::map<std::string, std::string> interfaces_;
    Environment own_ = Environment::own();
    CarriedVariables carried_;
    Loop loop_{};
    Fd signals_{};
    Fd input_file_{};
    std::vector<Node> nodes_{};
    std::unique_ptr<SrunOutput> output_{};
    OutputNames names_{};
    std::string step_{}; // its name on the nodes
    int world_ = 0;
    int input_ = -1; // what is read for the tasks' stdin; -1: nothing more
    int input_rank_ = all_tasks;
    int interrupts_ = 0;
    int code_ = 0;   // the greatest of the tasks that ended by themselves, or of what srun found
    int signal_ = 0; // the greatest that has ended a task; it goes before any code
    bool started_ = false;
    bool ending_ = false;
    bool waiting_for_others_ = false;
};

} // namespace dockdist::node
