#include "node/job/srun/srun_words.hpp"

#include "node/job/srun/srun_values.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace dockdist::node {
namespace {

using Options = SrunOptions;

Error wrong(const std::string& message) {
    return Error{.kind = ErrorKind::config, .message = message};
}

// Into an option's own field.
template <auto field>
Status count(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_count(name, text);
    TRY(number);
    options.*field = *number;
    return ok;
}

template <auto field>
Status count_gpus(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_gpus(name, text);
    TRY(number);
    options.*field = *number;
    return ok;
}

template <auto field>
Status number_from_0(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_count(name, text, 0);
    TRY(number);
    options.*field = *number;
    return ok;
}

template <auto field>
Status word(Options& options, std::string_view, std::string_view text) {
    options.*field = text;
    return ok;
}

template <auto field>
Status flag(Options& options, std::string_view, std::string_view) {
    options.*field = true;
    return ok;
}

template <auto read>
Status by(Options& options, std::string_view, std::string_view text) {
    return read(options, text);
}

template <auto value>
Status ask(Options& options, std::string_view, std::string_view) {
    options.what = value;
    return ok;
}

// What the cluster has settled already: where, when, how fast. Heeded by nobody.
constexpr Status (*settled)(Options&, std::string_view, std::string_view) = nullptr;

// What pyxis brings to Slurm.
Status of_the_node(Options& options, std::string_view name, std::string_view) {
    const std::string said = "the node is the container: image and mounts are those of cluster.yaml, and "
                             "--container-… has no effect";
    if (std::ranges::find(options.remarks, said) == options.remarks.end() && name != "container-name") {
        options.remarks.push_back(said);
    }
    return ok;
}

// What would change what is run.
Status unknown_here(Options&, std::string_view name, std::string_view) {
    return wrong("--" + std::string(name) + " is not known to dockdist's srun and sbatch");
}

Status terminal(Options&, std::string_view, std::string_view) {
    return wrong("--pty is not known to dockdist's srun: type `ssh -t NODE COMMAND`");
}

constexpr auto alone = Takes::nothing;
constexpr auto with_value = Takes::value;
constexpr auto value_may_be = Takes::perhaps;

constexpr std::array words_of_srun{
    SrunWord{"ntasks", 'n', with_value, count<&Options::tasks>, "SLURM_NTASKS"},
    SrunWord{"nodes", 'N', with_value, by<read_nodes>, "SLURM_NNODES"},
    SrunWord{"ntasks-per-node", 0, with_value, count<&Options::tasks_per_node>, "SLURM_NTASKS_PER_NODE"},
    SrunWord{"tasks-per-node", 0, with_value, count<&Options::tasks_per_node>},
    SrunWord{"ntasks-per-gpu", 0, with_value, count<&Options::tasks_per_gpu>, "SLURM_NTASKS_PER_GPU"},
    SrunWord{"cpus-per-task", 'c', with_value, count<&Options::cpus_per_task>, "SRUN_CPUS_PER_TASK"},
    SrunWord{"gpus", 'G', with_value, count_gpus<&Options::gpus>, "SLURM_GPUS"},
    SrunWord{"gpus-per-node", 0, with_value, count_gpus<&Options::gpus_per_node>, "SLURM_GPUS_PER_NODE"},
    SrunWord{"gpus-per-task", 0, with_value, count_gpus<&Options::gpus_per_task>, "SLURM_GPUS_PER_TASK"},
    SrunWord{"gres", 0, with_value, by<read_gres>, "SLURM_GRES"},
    SrunWord{"relative", 'r', with_value, number_from_0<&Options::relative>},
    SrunWord{"nodelist", 'w', with_value, word<&Options::node_list>},
    SrunWord{"exclude", 'x', with_value, word<&Options::excluded>},
    SrunWord{"overcommit", 'O', alone, flag<&Options::overcommit>, "SLURM_OVERCOMMIT"},
    SrunWord{"distribution", 'm', with_value, by<read_distribution>},
    SrunWord{"export", 0, with_value, by<read_export>, "SLURM_EXPORT_ENV"},
    SrunWord{"chdir", 'D', with_value, word<&Options::folder>, "SLURM_WORKING_DIR"},
    SrunWord{"job-name", 'J', with_value, word<&Options::job_name>},
    SrunWord{"partition", 'p', with_value, word<&Options::partition>},
    SrunWord{"input", 'i', with_value, word<&Options::input>, "SLURM_STDINMODE"},
    SrunWord{"output", 'o', with_value, word<&Options::output>, "SLURM_STDOUTMODE"},
    SrunWord{"error", 'e', with_value, word<&Options::error>, "SLURM_STDERRMODE"},
    SrunWord{"open-mode", 0, with_value, by<read_open_mode>, "SLURM_OPEN_MODE"},
    SrunWord{"label", 'l', alone, flag<&Options::label>, "SLURM_LABELIO"},
    SrunWord{"unbuffered", 'u', alone, flag<&Options::unbuffered>, "SLURM_UNBUFFEREDIO"},
    SrunWord{"quiet", 'Q', alone, flag<&Options::quiet>},
    SrunWord{"kill-on-bad-exit", 'K', value_may_be, by<read_kill>, "SLURM_KILL_BAD_EXIT"},
    SrunWord{"wait", 'W', with_value, number_from_0<&Options::wait_s>, "SLURM_WAIT"},
    SrunWord{"mpi", 0, with_value, by<read_mpi>},
    SrunWord{"help", 'h', alone, ask<Options::What::help>},
    SrunWord{"usage", 0, alone, ask<Options::What::help>},
    SrunWord{"version", 'V', alone, ask<Options::What::version>},
    SrunWord{"pty", 0, value_may_be, terminal},
    SrunWord{"multi-prog", 0, alone, unknown_here},
    SrunWord{"bcast", 0, value_may_be, unknown_here},
    SrunWord{"test-only", 0, alone, unknown_here},
    SrunWord{"het-group", 0, with_value, unknown_here},
    SrunWord{"pack-group", 0, with_value, unknown_here},
    SrunWord{"prolog", 0, with_value, unknown_here},
    SrunWord{"epilog", 0, with_value, unknown_here},
    SrunWord{"task-prolog", 0, with_value, unknown_here},
    SrunWord{"task-epilog", 0, with_value, unknown_here},
    SrunWord{"account", 'A', with_value, settled},
    SrunWord{"acctg-freq", 0, with_value, settled},
    SrunWord{"async", 0, alone, settled},
    SrunWord{"bb", 0, with_value, settled},
    SrunWord{"bbf", 0, with_value, settled},
    SrunWord{"begin", 'b', with_value, settled},
    SrunWord{"clusters", 'M', with_value, settled},
    SrunWord{"cluster-constraint", 0, with_value, settled},
    SrunWord{"comment", 0, with_value, settled},
    SrunWord{"compress", 0, value_may_be, settled},
    SrunWord{"constraint", 'C', with_value, settled},
    SrunWord{"contiguous", 0, alone, settled},
    SrunWord{"core-spec", 'S', with_value, settled},
    SrunWord{"cores-per-socket", 0, with_value, settled},
    SrunWord{"cpu-bind", 0, with_value, settled},
    SrunWord{"cpu-freq", 0, with_value, settled},
    SrunWord{"cpus-per-gpu", 0, with_value, settled},
    SrunWord{"deadline", 0, with_value, settled},
    SrunWord{"delay-boot", 0, with_value, settled},
    SrunWord{"dependency", 'd', with_value, settled},
    SrunWord{"disable-status", 'X', alone, settled},
    SrunWord{"exact", 0, alone, settled},
    SrunWord{"exclusive", 0, value_may_be, settled},
    SrunWord{"extra-node-info", 'B', with_value, settled},
    SrunWord{"get-user-env", 0, value_may_be, settled},
    SrunWord{"gid", 0, with_value, settled},
    SrunWord{"gpu-bind", 0, with_value, settled},
    SrunWord{"gpu-freq", 0, with_value, settled},
    SrunWord{"gpus-per-socket", 0, with_value, settled},
    SrunWord{"gres-flags", 0, with_value, settled},
    SrunWord{"hint", 0, with_value, settled},
    SrunWord{"hold", 'H', alone, settled},
    SrunWord{"immediate", 'I', value_may_be, settled},
    SrunWord{"interactive", 0, alone, settled},
    SrunWord{"jobid", 0, with_value, settled},
    SrunWord{"licenses", 'L', with_value, settled},
    SrunWord{"mail-type", 0, with_value, settled},
    SrunWord{"mail-user", 0, with_value, settled},
    SrunWord{"mcs-label", 0, with_value, settled},
    SrunWord{"mem", 0, with_value, settled},
    SrunWord{"mem-bind", 0, with_value, settled},
    SrunWord{"mem-per-cpu", 0, with_value, settled},
    SrunWord{"mem-per-gpu", 0, with_value, settled},
    SrunWord{"mincpus", 0, with_value, settled},
    SrunWord{"msg-timeout", 0, with_value, settled},
    SrunWord{"network", 0, with_value, settled},
    SrunWord{"nice", 0, value_may_be, settled},
    SrunWord{"no-allocate", 'Z', alone, settled},
    SrunWord{"no-kill", 'k', value_may_be, settled},
    SrunWord{"ntasks-per-core", 0, with_value, settled},
    SrunWord{"ntasks-per-socket", 0, with_value, settled},
    SrunWord{"overlap", 0, alone, settled},
    SrunWord{"oversubscribe", 's', alone, settled},
    SrunWord{"power", 0, with_value, settled},
    SrunWord{"preserve-env", 'E', alone, settled},
    SrunWord{"priority", 0, with_value, settled},
    SrunWord{"profile", 0, with_value, settled},
    SrunWord{"propagate", 0, value_may_be, settled},
    SrunWord{"qos", 'q', with_value, settled},
    SrunWord{"quit-on-interrupt", 0, alone, settled},
    SrunWord{"quotatype", 0, with_value, settled}, // of a plugin that many training scripts' authors have
    SrunWord{"reboot", 0, alone, settled},
    SrunWord{"reservation", 0, with_value, settled},
    SrunWord{"send-libs", 0, value_may_be, settled},
    SrunWord{"share", 0, alone, settled},
    SrunWord{"signal", 0, with_value, settled},
    SrunWord{"slurmd-debug", 0, with_value, settled},
    SrunWord{"sockets-per-node", 0, with_value, settled},
    SrunWord{"spread-job", 0, alone, settled},
    SrunWord{"switches", 0, with_value, settled},
    SrunWord{"thread-spec", 0, with_value, settled},
    SrunWord{"threads", 'T', with_value, settled},
    SrunWord{"threads-per-core", 0, with_value, settled},
    SrunWord{"time", 't', with_value, settled},
    SrunWord{"time-min", 0, with_value, settled},
    SrunWord{"tmp", 0, with_value, settled},
    SrunWord{"uid", 0, with_value, settled},
    SrunWord{"use-min-nodes", 0, alone, settled},
    SrunWord{"verbose", 'v', alone, settled},
    SrunWord{"wckey", 0, with_value, settled},
    SrunWord{"whole", 0, alone, settled},
    SrunWord{"extra", 0, with_value, settled},
    SrunWord{"prefer", 0, with_value, settled},
    SrunWord{"tres-bind", 0, with_value, settled},
    SrunWord{"tres-per-task", 0, with_value, settled},
    SrunWord{"container-image", 0, with_value, of_the_node},
    SrunWord{"container-mounts", 0, with_value, of_the_node},
    SrunWord{"container-workdir", 0, with_value, word<&Options::folder>},
    SrunWord{"container-name", 0, with_value, of_the_node},
    SrunWord{"container-save", 0, with_value, of_the_node},
    SrunWord{"container-env", 0, with_value, settled},
    SrunWord{"container-mount-home", 0, alone, settled},
    SrunWord{"no-container-mount-home", 0, alone, settled},
    SrunWord{"container-remap-root", 0, alone, settled},
    SrunWord{"no-container-remap-root", 0, alone, settled},
    SrunWord{"container-entrypoint", 0, alone, settled},
    SrunWord{"no-container-entrypoint", 0, alone, settled},
    SrunWord{"container-writable", 0, alone, settled},
    SrunWord{"container-readonly", 0, alone, settled},
};

// Where sbatch has a word of its own, or means another thing by it.
constexpr std::array words_of_sbatch{
    SrunWord{"array", 'a', with_value, word<&Options::array>},
    SrunWord{"wrap", 0, with_value, word<&Options::wrap>},
    SrunWord{"parsable", 0, alone, flag<&Options::parsable>},
    SrunWord{"usage", 'u', alone, ask<Options::What::help>},
    SrunWord{"unbuffered", 0, alone, settled},
    SrunWord{"wait", 'W', alone, settled},
    SrunWord{"requeue", 0, alone, settled},
    SrunWord{"no-requeue", 0, alone, settled},
    SrunWord{"ignore-pbs", 0, alone, settled},
    SrunWord{"batch", 0, with_value, settled},
    SrunWord{"export-file", 0, with_value, settled},
    SrunWord{"kill-on-invalid-dep", 0, with_value, settled},
    SrunWord{"nodefile", 'F', with_value, unknown_here},
    SrunWord{"mpi", 0, with_value, settled}, // srun says it
};

} // namespace

std::span<const SrunWord> srun_words() {
    return words_of_srun;
}

std::span<const SrunWord> sbatch_words() {
    static const auto all = [] {
        std::vector<SrunWord> found(words_of_sbatch.begin(), words_of_sbatch.end());
        for (auto word : words_of_srun) {
            if (std::ranges::find(words_of_sbatch, std::string_view(word.name), &SrunWord::name) !=
                words_of_sbatch.end()) {
                continue;
            }
            if (std::ranges::find(words_of_sbatch, word.letter, &SrunWord::letter) != words_of_sbatch.end()) {
                word.letter = 0;
            }
            found.push_back(word);
        }
        return found;
    }();
    return all;
}

} // namespace dockdist::node
