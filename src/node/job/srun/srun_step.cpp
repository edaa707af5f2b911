#include "node/job/srun/srun_step.hpp"

#include "node/session/session.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/number.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t kill_after_ms = 5000;     // a TERM, or a Ctrl-C
constexpr std::int64_t give_up_after_ms = 20000; // all was told to end
constexpr std::size_t most_input = 1U << 20U;    // of stdin, for one node

} // namespace

SrunStep::SrunStep(SrunOptions options, std::vector<SrunNode> nodes,
                   std::map<std::string, std::string> interfaces, std::optional<JobPart> part)
    : options_(std::move(options)), part_(std::move(part)), interfaces_(std::move(interfaces)),
      carried_(carried_variables(own_, recorded_environment(), part_, options_.exported)),
      step_("srun-" + random_hex(8)) {
    for (auto& node : nodes) {
        auto& placed = nodes_.emplace_back();
        placed.first_rank = world_;
        placed.left = node.tasks;
        world_ += node.tasks;
        placed.layout = std::move(node);
    }
    output_ = std::make_unique<SrunOutput>(options_, world_);
}

int SrunStep::run() {
    constexpr std::array watched{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    auto signals = take_signals(watched);
    if (!signals) {
        return srun_error(signals.error().message);
    }
    signals_ = std::move(*signals);
    loop_.watch(signals_.get(), POLLIN, [this](short) { hear_signals(); });
    open_input();
    if (!ending_) {
        for (auto& node : nodes_) {
            connect(node);
        }
        loop_.run();
    }
    if (const auto done = output_->end(); !done) {
        (void)srun_error(done.error().message);
    }
    return signal_ != 0 ? exit_codes::by_signal(signal_) : code_;
}

void SrunStep::connect(Node& node) {
    node.peer = std::make_unique<StepPeer>(
        loop_, node.layout.name,
        StepPeer::Listener{.on_message = [this, &node](const StepMessage& message) { hear(node, message); },
                           .on_output = [this, &node](const wire::Frame& frame) { show(node, frame); },
                           .on_closed = [this, &node](const std::string& why) { closed(node, why); }});
    node.peer->on_sent = [this] { watch_input(); };
    StepMessage message{.type = StepMessage::Type::opening};
    message.opening = {.step = step_,
                       .tasks = node.layout.tasks,
                       .gpus = node.layout.gpus,
                       .gpus_per_task = options_.gpus_per_task.value_or(0),
                       .overcommit = options_.overcommit,
                       .ports = &node == &nodes_.front() ? 1 : 0};
    node.peer->send(step_frame(message));
}

void SrunStep::hear(Node& node, const StepMessage& message) {
    switch (message.type) {
    case StepMessage::Type::prepared:
        node.prepared = message.prepared;
        node.is_prepared = true;
        if (!started_ && !ending_ && std::ranges::all_of(nodes_, &Node::is_prepared)) {
            start_tasks();
        }
        break;
    case StepMessage::Type::error:
        fail(node.layout.name + ": " + printable(message.message));
        break;
    case StepMessage::Type::task_ended:
        task_ended(node, message.task);
        break;
    default:
        break;
    }
}

void SrunStep::show(const Node& node, const wire::Frame& frame) {
    if (frame.rank < node.first_rank || frame.rank >= node.first_rank + node.layout.tasks ||
        frame.stream == 0) {
        return;
    }
    auto names = names_;
    names.node = node.layout.name;
    names.node_rank = static_cast<int>(&node - nodes_.data());
    names.rank = frame.rank;
    if (const auto done = output_->write(frame.stream, names, frame.payload); !done) {
        fail(done.error().message);
    }
}

// The node's own name for itself, its variables and what the launcher slurm gives it.
std::map<std::string, std::string>
SrunStep::variables_of(std::size_t node, const std::map<std::string, std::string>& launch) const {
    auto variables = carried_.set;
    for (const auto& [name, value] : launch) {
        if ((name != "MASTER_ADDR" && name != "MASTER_PORT") || !variables.contains(name)) {
            variables[name] = value;
        }
    }
    const auto& host = nodes_[node].layout.name;
    const std::map<std::string, std::string> ours{
        {"PWD", options_.folder},
        {"SLURM_JOB_ID", names_.job},
        {"SLURM_JOBID", names_.job},
        {"SLURM_JOB_NAME", names_.job_name},
        {"SLURM_JOB_USER", names_.user},
        {"SLURM_JOB_UID", std::to_string(::geteuid())},
        {"SLURM_JOB_GID", std::to_string(::getegid())},
        {"SLURM_SUBMIT_DIR", options_.own_folder},
        {"SLURM_SUBMIT_HOST", own_.get("DOCKDIST_NODE").value_or(host)},
        {"SLURM_CLUSTER_NAME", own_.get("DOCKDIST_CLUSTER").value_or("dockdist")},
        {"SLURM_JOB_PARTITION", options_.partition.empty() ? "dockdist" : options_.partition},
    };
    for (const auto& [name, value] : ours) {
        variables[name] = value;
    }
    if (options_.cpus_per_task) {
        variables["SLURM_CPUS_PER_TASK"] = std::to_string(*options_.cpus_per_task);
    }
    // Of a step within a larger job.
    for (const auto& [name, from] : {std::pair{"SLURM_JOB_NODELIST", "SLURM_JOB_NODELIST"},
                                     std::pair{"SLURM_NODELIST", "SLURM_JOB_NODELIST"},
                                     std::pair{"SLURM_JOB_NUM_NODES", "SLURM_JOB_NUM_NODES"}}) {
        if (const auto value = own_.get(from)) {
            variables[name] = *value;
        }
    }
    return variables;
}

void SrunStep::start_tasks() {
    const auto& ports = nodes_.front().prepared.ports;
    if (ports.empty()) {
        return fail(nodes_.front().layout.name + ": it has given no port");
    }
    LaunchRequest request{.job = JobId(part_ ? part_->job : step_),
                          .command = options_.command,
                          .ports = {Port{static_cast<std::uint16_t>(ports.front())}}};
    for (const auto& node : nodes_) {
        request.nodes.push_back({.name = NodeName(node.layout.name),
                                 .address = node.layout.address,
                                 .interface = interfaces_.at(node.layout.name),
                                 .slots = node.layout.tasks,
                                 .gpus = node.prepared.gpus});
    }
    const auto launches = find_launcher("slurm").value().launch(request);
    if (!launches) {
        return fail(launches.error().message);
    }
    const auto& first = launches->front().start.env;
    names_.job = own_.get("SLURM_JOB_ID").value_or(first.at("SLURM_JOB_ID"));
    names_.user = recorded_account().name;
    names_.job_name =
        !options_.job_name.empty()
            ? options_.job_name
            : own_.get("SLURM_JOB_NAME")
                  .value_or(options_.command.front().substr(options_.command.front().rfind('/') + 1));
    started_ = true;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        StepMessage message{.type = StepMessage::Type::start};
        message.start = {.argv = options_.command,
                         .env = variables_of(i, launches->at(i).start.env),
                         .unset = carried_.unset,
                         .folder = options_.folder,
                         .first_rank = nodes_[i].first_rank,
                         .world = world_,
                         .input_of = input_ < 0 ? no_task : input_rank_};
        const auto frame = step_frame(message);
        if (frame.size() > wire::max_payload) {
            return fail("the environment and the command are longer than 1 MiB");
        }
        nodes_[i].peer->send(frame);
    }
    watch_input();
}

void SrunStep::task_ended(Node& node, const TaskEnd& end) {
    if (end.rank < node.first_rank || end.rank >= node.first_rank + node.layout.tasks || node.left == 0) {
        return;
    }
    --node.left;
    signal_ = std::max(signal_, end.signal);
    code_ = std::max(code_, end.signal == 0 ? end.code : 0);
    const auto who = node.layout.name + ": task " + std::to_string(end.rank) + ": ";
    if (end.code != 0) {
        (void)srun_error(who + (end.signal != 0 ? std::string(::strsignal(end.signal))
                                                : "Exited with exit code " + std::to_string(end.code)));
    }
    if (ending_) {
        return;
    }
    if (end.code != 0 && options_.kill_on_bad_exit) {
        srun_remark("Terminating StepId=" + names_.job + ".0, as --kill-on-bad-exit asks");
        return end_all(kill_after_ms);
    }
    if (options_.wait_s > 0 && !std::exchange(waiting_for_others_, true)) {
        loop_.after(std::int64_t{options_.wait_s} * 1000, [this] {
            if (!ending_) {
                srun_remark("First task exited " + std::to_string(options_.wait_s) +
                            "s ago: Terminating StepId=" + names_.job + ".0");
                end_all(kill_after_ms);
            }
        });
    }
}

void SrunStep::closed(Node& node, const std::string& why) {
    node.closed = true;
    if (node.left > 0 && !ending_) {
        fail(started_
                 ? node.layout.name + ": lost, with " + std::to_string(node.left) + " of its tasks: " + why
                 : "Unable to reach " + node.layout.name + ": " + why);
    }
    if (std::ranges::all_of(nodes_, &Node::closed)) {
        loop_.stop();
    }
}

// Whatever else follows from it is not said.
void SrunStep::fail(const std::string& message) {
    code_ = std::max(code_, exit_codes::failed);
    if (!ending_) {
        (void)srun_error(message);
    }
    end_all(kill_after_ms);
}

void SrunStep::tell_all(const StepMessage& message) {
    for (const auto& node : nodes_) {
        if (node.peer && !node.closed) {
            node.peer->send(step_frame(message));
        }
    }
}

void SrunStep::end_all(std::int64_t grace_ms) {
    tell_all({.type = StepMessage::Type::end, .grace_ms = grace_ms});
    if (!std::exchange(ending_, true)) {
        loop_.after(give_up_after_ms, [this] { give_up(); });
    }
    if (!started_) {
        loop_.stop(); // ssh may still be on its way to somebody who does not answer
    }
}

// Its supervisors tell the tasks of their nodes; those of other nodes have nobody else who does.
void SrunStep::job_ends(int signal) {
    code_ = std::max(code_, exit_codes::by_signal(signal));
    if (!started_) {
        return loop_.stop();
    }
    if (!std::exchange(ending_, true)) {
        tell_all({.type = StepMessage::Type::end,
                  .grace_ms = part_->grace_ms,
                  .signal = signal,
                  .with_job = true});
    }
}

void SrunStep::give_up() {
    for (const auto& node : nodes_) {
        if (!node.closed) {
            (void)srun_error(node.layout.name + ": its tasks were told to end " +
                             std::to_string(give_up_after_ms / 1000) +
                             " s ago, and it does not say that they have: look there (`ssh " +
                             node.layout.name + " ps ax`)");
        }
    }
    code_ = std::max(code_, exit_codes::failed);
    loop_.stop();
}

// All tasks get it, as at a terminal; who does not end by it is told to.
void SrunStep::interrupt() {
    if (++interrupts_ == 1 && started_ && !ending_) {
        srun_remark("sending Ctrl-C to StepId=" + names_.job + ".0");
        tell_all({.type = StepMessage::Type::signal, .number = SIGINT});
        loop_.after(kill_after_ms, [this] { end_all(kill_after_ms); });
        return;
    }
    code_ = std::max(code_, exit_codes::interrupted);
    end_all(interrupts_ > 2 ? 0 : kill_after_ms);
}

void SrunStep::hear_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (part_ && is_of_an_end(info)) {
            job_ends(signal);
        } else if (signal == SIGINT) {
            interrupt();
        } else if (signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
            code_ = std::max(code_, exit_codes::by_signal(signal));
            end_all(ending_ || signal == SIGQUIT ? 0 : kill_after_ms);
        } else {
            tell_all({.type = StepMessage::Type::signal, .number = signal});
        }
    }
}

void SrunStep::open_input() {
    const auto& from = options_.input;
    if (from == "none") {
        return;
    }
    input_ = STDIN_FILENO;
    if (from.empty() || from == "all") {
        return;
    }
    if (const auto rank = whole_number<int>(from); rank && *rank >= 0 && *rank < world_) {
        input_rank_ = *rank;
        return;
    }
    input_file_ = Fd(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    input_ = input_file_.get();
    if (input_ < 0) {
        fail("Could not open stdin file " + printable(from) + ": " + std::strerror(errno));
    }
}

// Not while a node has too much of it to be sent.
void SrunStep::watch_input() {
    if (input_ < 0 || !started_) {
        return;
    }
    loop_.forget(input_);
    if (std::ranges::all_of(nodes_, [](const Node& node) { return node.peer->waiting() < most_input; })) {
        loop_.watch(input_, POLLIN, [this, fd = input_](short) { read_input(fd); });
    }
}

void SrunStep::read_input(int fd) {
    char buffer[32768];
    const auto count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    const auto bytes = std::string_view(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    const auto frame =
        wire::encode({.kind = wire::Frame::Kind::output, .rank = input_rank_, .payload = std::string(bytes)});
    for (const auto& node : nodes_) {
        if (!node.closed) {
            node.peer->send(frame);
        }
    }
    if (bytes.empty()) {
        loop_.forget(fd);
        input_ = -1;
    }
    watch_input();
}

} // namespace dockdist::node
