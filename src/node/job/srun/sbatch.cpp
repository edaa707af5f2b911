#include "node/job/srun/sbatch.hpp"

#include "node/job/srun/srun_cluster.hpp"
#include "node/session/batch_script.hpp"
#include "node/session/scontrol.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "node/system/process_stat.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/slurm.hpp"

#include <climits>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int most_ancestors = 32;

int sbatch_error(const std::string& message) {
    (void)write_all(STDERR_FILENO, "sbatch: error: " + message + "\n");
    return exit_codes::failed;
}

void sbatch_remark(const std::string& message) {
    (void)write_all(STDERR_FILENO, "sbatch: " + message + "\n");
}

Error batch_error(const std::string& message) {
    return Error{.kind = ErrorKind::usage, .message = message};
}

std::string absolute(const std::string& path, const std::string& folder) {
    return path.empty() || path.starts_with('/') ? path : folder + "/" + path;
}

// The first task of an array, "1-10%1"; what else there is of it is a remark.
void add_array(std::map<std::string, std::string>& variables, const std::string& array,
               const std::string& id) {
    if (array.empty()) {
        return;
    }
    const auto first = array.substr(0, array.find_first_not_of("0123456789"));
    const auto task = Environment::own().get("SLURM_ARRAY_TASK_ID").value_or(first.empty() ? "0" : first);
    variables["SLURM_ARRAY_JOB_ID"] = id;
    variables["SLURM_ARRAY_TASK_ID"] = task;
    variables["SLURM_ARRAY_TASK_MIN"] = first.empty() ? "0" : first;
}

struct Prepared {
    std::map<std::string, std::string> variables{};
    std::vector<std::string> remarks{};
    std::string folder{}; // to run in; empty: this one
};

// Of a process by its number and start, so that all srun of one script know the same.
std::string id_of(pid_t pid, const std::string& host) {
    const auto stat = read_process_stat(pid);
    return slurm_job_number(host + "/" + std::to_string(pid) + "/" +
                            std::to_string(stat ? stat->started_ticks : 0));
}

Result<Prepared> prepare(SrunOptions& options, const std::string& script, pid_t pid) {
    const auto part = own_part();
    const auto cluster = find_srun_cluster(part);
    TRY(cluster);
    const auto nodes = lay_out_batch(options, cluster->available);
    if (!nodes) {
        return batch_error("Batch job submission failed: " + nodes.error().message);
    }
    const auto own = Environment::own();
    BatchJob job{.script = absolute(script, current_folder()),
                 .folder = current_folder(),
                 .host = own.get("DOCKDIST_NODE").value_or(nodes->front().name),
                 .cluster = own.get("DOCKDIST_CLUSTER").value_or("dockdist"),
                 .user = recorded_account().name,
                 .cpus = own_cpus(),
                 .uid = static_cast<long>(::geteuid()),
                 .gid = static_cast<long>(::getegid())};
    job.id = id_of(pid, job.host);
    Prepared prepared{.variables = batch_variables(options, *nodes, job),
                      .remarks = options.remarks,
                      .folder = options.folder};
    add_array(prepared.variables, options.array, job.id);
    if (!options.array.empty()) {
        prepared.remarks.push_back("--array=" + printable(options.array) + ": one task of it runs here, " +
                                   prepared.variables["SLURM_ARRAY_TASK_ID"] +
                                   "; for another one set SLURM_ARRAY_TASK_ID");
    }
    if (!own.get("TERM") || own.get("TERM")->empty()) {
        prepared.variables["TERM"] = "xterm"; // a login's, which sbatch carries along
    }
    return prepared;
}

// The variable of a job that tells its nodes apart, where it is more than `most`: a batch script is not to be
// started on each of them, as it starts its tasks on all of them itself.
Status runs_once(const char* variable, int most) {
    const auto own = Environment::own();
    if (!own.get("SLURM_JOB_ID") && own_part() &&
        whole_number<int>(own.get(variable).value_or("")).value_or(most) > most) {
        return batch_error("a batch script runs on one node, and its srun on all: "
                           "`dockdist run --launcher plain --nodes 1 -- …`");
    }
    return ok;
}

// Says what is to be said, and enters the environment and the folder.
int enter_batch(const Result<Prepared>& prepared, Environment& environment) {
    if (!prepared) {
        return sbatch_error(prepared.error().message);
    }
    for (const auto& remark : prepared->remarks) {
        sbatch_remark(remark);
    }
    for (const auto& [name, value] : prepared->variables) {
        environment.set(name, value);
    }
    if (!prepared->folder.empty()) {
        if (const auto entered = enter_folder(prepared->folder); !entered) {
            return sbatch_error(entered.error().message);
        }
    }
    return 0;
}

std::string read_stdin() {
    std::string text;
    char buffer[65536];
    for (ssize_t count = 0; (count = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
}

// "#!/bin/bash -l" as words; none where it does not begin so.
std::vector<std::string> interpreter(const std::string& head) {
    std::vector<std::string> words;
    if (head.starts_with("#!")) {
        auto line = head.substr(2, head.find_first_of("\r\n") - 2);
        line.erase(0, line.find_first_not_of(" \t"));
        const auto end = line.find_first_of(" \t");
        words.push_back(line.substr(0, end));
        if (end != std::string::npos && line.find_first_not_of(" \t", end) != std::string::npos) {
            words.push_back(line.substr(line.find_first_not_of(" \t", end)));
        }
    }
    return words;
}

// Of a shell's process that runs a script.
std::vector<BatchLine> lines_of_process(const std::string& folder, std::string line) {
    line.resize(line.size() - (line.ends_with('\0') ? 1 : 0));
    const auto command = split(line, '\0');
    const auto at = find_batch_script(command, folder + "/cwd");
    // bash's own, dash's own: wherever the script has gone since
    for (const auto& path :
         {at ? absolute(command[*at], folder + "/cwd") : "", folder + "/fd/255", folder + "/fd/10"}) {
        if (auto lines = batch_lines(head_of_script(path)); !lines.empty()) {
            return lines;
        }
    }
    return {};
}

void set_variables_of(const std::vector<BatchLine>& lines, pid_t pid) {
    auto options = parse_sbatch({}, lines);
    const auto prepared = options ? prepare(*options, "", pid) : Result<Prepared>(options.error());
    if (!prepared) {
        return (void)sbatch_error(prepared.error().message);
    }
    for (const auto& [name, value] : prepared->variables) {
        ::setenv(name.c_str(), value.c_str(), 0);
    }
}

} // namespace

Result<std::vector<SrunNode>> lay_out_batch(SrunOptions& options, const std::vector<SrunNode>& available) {
    if (!options.nodes && !options.tasks && options.node_list.empty() && !options.tasks_per_gpu) {
        int gpus = 0;
        int count = 0;
        for (const auto& node : available) {
            if (count > 0 && gpus >= options.gpus.value_or(0)) {
                break;
            }
            gpus += node.gpus_there;
            ++count;
        }
        options.nodes = options.most_nodes = std::max(count, 1);
    }
    auto nodes = lay_out(options, available);
    if (!nodes) {
        return nodes;
    }
    for (const auto& node : *nodes) {
        if (node.gpus > node.gpus_there) {
            return batch_error("Requested node configuration is not available: " + std::to_string(node.gpus) +
                               " GPUs of " + node.name + ", and there are " +
                               std::to_string(node.gpus_there));
        }
    }
    return nodes;
}

std::map<std::string, std::string> batch_variables(const SrunOptions& options,
                                                   const std::vector<SrunNode>& nodes, const BatchJob& job) {
    std::vector<std::string> names;
    std::vector<int> tasks;
    for (const auto& node : nodes) {
        names.push_back(node.name);
        tasks.push_back(node.tasks);
    }
    const auto list = host_list(names);
    const auto count = std::to_string(nodes.size());
    const auto cpus = std::vector<int>(nodes.size(), job.cpus);
    const auto& first = nodes.front();
    const int gpus = first.gpus < 0 ? first.gpus_there : first.gpus;
    const auto base = job.script.substr(job.script.rfind('/') + 1);
    std::map<std::string, std::string> variables{
        {"SLURM_JOB_ID", job.id},
        {"SLURM_JOBID", job.id},
        {"SLURM_JOB_NAME", !options.job_name.empty() ? options.job_name
                           : base.empty()            ? "sbatch"
                                                     : base},
        {"SLURM_JOB_NODELIST", list},
        {"SLURM_NODELIST", list},
        {"SLURM_JOB_NUM_NODES", count},
        {"SLURM_NNODES", count},
        {"SLURM_TASKS_PER_NODE", slurm_counts(tasks)},
        {"SLURM_JOB_CPUS_PER_NODE", slurm_counts(cpus)},
        {"SLURM_CPUS_ON_NODE", std::to_string(job.cpus)},
        {"SLURM_GPUS_ON_NODE", std::to_string(gpus)},
        {"SLURM_NODEID", "0"},
        {"SLURM_PROCID", "0"},
        {"SLURM_LOCALID", "0"},
        {"SLURM_GTIDS", "0"},
        {"SLURM_TASK_PID", std::to_string(::getpid())},
        {"SLURMD_NODENAME", job.host},
        {"SLURM_TOPOLOGY_ADDR", job.host},
        {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
        {"SLURM_SUBMIT_DIR", job.folder},
        {"SLURM_SUBMIT_HOST", job.host},
        {"SLURM_CLUSTER_NAME", job.cluster},
        {"SLURM_JOB_PARTITION", options.partition.empty() ? "dockdist" : options.partition},
        {"SLURM_JOB_USER", job.user},
        {"SLURM_JOB_UID", std::to_string(job.uid)},
        {"SLURM_JOB_GID", std::to_string(job.gid)},
        {batch_script_variable, job.script},
    };
    if (gpus > 0) {
        auto& indices = variables["SLURM_JOB_GPUS"];
        for (int i = 0; i < gpus; ++i) {
            indices += (i == 0 ? "" : ",") + std::to_string(i);
        }
    }
    const auto add = [&](const char* name, const std::optional<int>& value) {
        if (value) {
            variables[name] = std::to_string(*value);
        }
    };
    if (options.tasks || options.tasks_per_node || options.tasks_per_gpu) {
        const int all = std::accumulate(tasks.begin(), tasks.end(), 0);
        add("SLURM_NTASKS", all);
        add("SLURM_NPROCS", all);
    }
    add("SLURM_NTASKS_PER_NODE", options.tasks_per_node);
    add("SLURM_NTASKS_PER_GPU", options.tasks_per_gpu);
    add("SLURM_CPUS_PER_TASK", options.cpus_per_task);
    add("SLURM_GPUS", options.gpus);
    add("SLURM_GPUS_PER_NODE", options.gpus_per_node);
    add("SLURM_GPUS_PER_TASK", options.gpus_per_task);
    if (options.overcommit) {
        variables["SLURM_OVERCOMMIT"] = "1";
    }
    for (const auto& [name, value] : options.exported.values) {
        variables[name] = value;
    }
    return variables;
}

int run_sbatch(const std::vector<std::string>& arguments) {
    auto options = parse_sbatch(arguments, {});
    if (!options) {
        return sbatch_error(options.error().message);
    }
    if (const auto text = srun_answer(*options, "sbatch")) {
        return write_all(STDOUT_FILENO, *text) ? 0 : exit_codes::failed;
    }
    auto command = options->command;
    const auto words_before = std::vector<std::string>(
        arguments.begin(), arguments.end() - static_cast<std::ptrdiff_t>(command.size()));
    const bool is_typed = command.empty() && options->wrap.empty();
    const auto text = is_typed          ? read_stdin()
                      : command.empty() ? "#!/bin/sh\n" + options->wrap
                                        : head_of_script(command.front());
    const auto script = command.empty() ? std::string() : command.front();
    const auto runs_by = interpreter(text);
    if (runs_by.empty()) {
        return sbatch_error(text.empty() && !is_typed
                                ? "Unable to open file " + printable(script)
                                : "This does not look like a batch script: its first line must begin with #! "
                                  "and the path of an interpreter, as in #!/bin/sh");
    }
    options = parse_sbatch(words_before, batch_lines(text));
    if (!options) {
        return sbatch_error(options.error().message);
    }
    if (!script.empty()) {
        command.front() = absolute(script, current_folder());
    } else {
        command = {"-c", text, "sbatch"};
    }
    command.insert(command.begin(), runs_by.begin(), runs_by.end());
    const auto once = runs_once("NODE_RANK", 0);
    const auto prepared = once ? prepare(*options, script, ::getpid()) : Result<Prepared>(once.error());
    auto environment = Environment::own();
    if (const int code = enter_batch(prepared, environment); code != 0) {
        return code;
    }
    const auto& id = prepared->variables.at("SLURM_JOB_ID");
    if (options->parsable) {
        (void)write_all(STDOUT_FILENO, id + "\n");
    } else {
        sbatch_remark("batch job " + id + " runs here, without a queue");
    }
    return exec_program(command, environment);
}

int run_batch(const std::vector<std::string>& command) {
    auto environment = Environment::own();
    auto words = command;
    if (const auto at = find_batch_script(command)) {
        const auto script = absolute(command[*at], current_folder());
        if (const auto once = runs_once("NNODES", 1); !once) {
            return sbatch_error(once.error().message);
        }
        auto options = parse_sbatch({}, batch_lines(head_of_script(script)));
        if (!options) {
            return sbatch_error(options.error().message);
        }
        words[*at] = options->folder.empty() ? command[*at] : script;
        if (const int code = enter_batch(prepare(*options, script, ::getpid()), environment); code != 0) {
            return code;
        }
    }
    return exec_program(words, environment);
}

void enter_script_of_caller() {
    if (Environment::own().get("SLURM_JOB_ID")) {
        return;
    }
    std::vector<BatchLine> lines;
    std::string of;
    pid_t script = 0; // the outermost of its processes: `$(srun …)` is called by another one
    pid_t pid = ::getppid();
    for (int i = 0; i < most_ancestors && pid > 1; ++i) {
        const auto folder = "/proc/" + std::to_string(pid);
        auto line = read_file_or_empty(folder + "/cmdline");
        if (script != 0 && line != of) {
            break;
        }
        if (auto found = lines_of_process(folder, line); !found.empty()) {
            lines = std::move(found);
            of = std::move(line);
            script = pid;
        }
        const auto stat = read_process_stat(pid);
        pid = stat ? stat->parent : 0;
    }
    if (script != 0) {
        set_variables_of(lines, script);
    }
}

} // namespace dockdist::node
