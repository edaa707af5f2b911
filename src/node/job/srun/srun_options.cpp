#include "node/job/srun/srun_options.hpp"

#include "core/text.hpp"
#include "node/job/srun/srun_values.hpp"

#include <algorithm>
#include <array>
#include <getopt.h>

namespace dockdist::node {
namespace {

using Options = SrunOptions;

Error wrong(const std::string& message) {
    return Error{.kind = ErrorKind::config, .message = message};
}

Error no_option(const std::string& message) {
    return Error{.kind = ErrorKind::usage, .message = message};
}

// Into an option's own field.
template <auto field>
Status count(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_count(name, text);
    if (!number) {
        return number.error();
    }
    options.*field = *number;
    return ok;
}

template <auto field>
Status count_gpus(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_gpus(name, text);
    if (!number) {
        return number.error();
    }
    options.*field = *number;
    return ok;
}

template <auto field>
Status number_from_0(Options& options, std::string_view name, std::string_view text) {
    const auto number = read_count(name, text, 0);
    if (!number) {
        return number.error();
    }
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
Status settled(Options&, std::string_view, std::string_view) {
    return ok;
}

// What would change what is run.
Status unknown_here(Options&, std::string_view name, std::string_view) {
    return wrong("--" + std::string(name) + " is not known to dockdist's srun");
}

Status terminal(Options&, std::string_view, std::string_view) {
    return wrong("--pty is not known to dockdist's srun: type `ssh -t NODE COMMAND`");
}

enum class Takes : int { nothing = no_argument, value = required_argument, perhaps = optional_argument };

struct Word {
    const char* name;
    char letter; // 0: none
    Takes takes;
    Status (*read)(Options&, std::string_view name, std::string_view value);
    const char* variable = nullptr; // that says it where the command line does not
};

constexpr auto alone = Takes::nothing;
constexpr auto with_value = Takes::value;
constexpr auto value_may_be = Takes::perhaps;

constexpr std::array srun_words{
    Word{"ntasks", 'n', with_value, count<&Options::tasks>, "SLURM_NTASKS"},
    Word{"nodes", 'N', with_value, by<read_nodes>, "SLURM_NNODES"},
    Word{"ntasks-per-node", 0, with_value, count<&Options::tasks_per_node>, "SLURM_NTASKS_PER_NODE"},
    Word{"ntasks-per-gpu", 0, with_value, count<&Options::tasks_per_gpu>, "SLURM_NTASKS_PER_GPU"},
    Word{"cpus-per-task", 'c', with_value, count<&Options::cpus_per_task>, "SRUN_CPUS_PER_TASK"},
    Word{"gpus", 'G', with_value, count_gpus<&Options::gpus>, "SLURM_GPUS"},
    Word{"gpus-per-node", 0, with_value, count_gpus<&Options::gpus_per_node>, "SLURM_GPUS_PER_NODE"},
    Word{"gpus-per-task", 0, with_value, count_gpus<&Options::gpus_per_task>, "SLURM_GPUS_PER_TASK"},
    Word{"gres", 0, with_value, by<read_gres>, "SLURM_GRES"},
    Word{"relative", 'r', with_value, number_from_0<&Options::relative>},
    Word{"nodelist", 'w', with_value, word<&Options::node_list>},
    Word{"exclude", 'x', with_value, word<&Options::excluded>},
    Word{"overcommit", 'O', alone, flag<&Options::overcommit>, "SLURM_OVERCOMMIT"},
    Word{"distribution", 'm', with_value, by<read_distribution>},
    Word{"export", 0, with_value, by<read_export>, "SLURM_EXPORT_ENV"},
    Word{"chdir", 'D', with_value, word<&Options::folder>, "SLURM_WORKING_DIR"},
    Word{"job-name", 'J', with_value, word<&Options::job_name>},
    Word{"partition", 'p', with_value, word<&Options::partition>},
    Word{"input", 'i', with_value, word<&Options::input>, "SLURM_STDINMODE"},
    Word{"output", 'o', with_value, word<&Options::output>, "SLURM_STDOUTMODE"},
    Word{"error", 'e', with_value, word<&Options::error>, "SLURM_STDERRMODE"},
    Word{"open-mode", 0, with_value, by<read_open_mode>, "SLURM_OPEN_MODE"},
    Word{"label", 'l', alone, flag<&Options::label>, "SLURM_LABELIO"},
    Word{"unbuffered", 'u', alone, flag<&Options::unbuffered>, "SLURM_UNBUFFEREDIO"},
    Word{"quiet", 'Q', alone, flag<&Options::quiet>},
    Word{"kill-on-bad-exit", 'K', value_may_be, by<read_kill>, "SLURM_KILL_BAD_EXIT"},
    Word{"wait", 'W', with_value, number_from_0<&Options::wait_s>, "SLURM_WAIT"},
    Word{"mpi", 0, with_value, by<read_mpi>},
    Word{"help", 'h', alone, ask<Options::What::help>},
    Word{"usage", 0, alone, ask<Options::What::help>},
    Word{"version", 'V', alone, ask<Options::What::version>},
    Word{"pty", 0, value_may_be, terminal},
    Word{"multi-prog", 0, alone, unknown_here},
    Word{"bcast", 0, value_may_be, unknown_here},
    Word{"test-only", 0, alone, unknown_here},
    Word{"het-group", 0, with_value, unknown_here},
    Word{"pack-group", 0, with_value, unknown_here},
    Word{"prolog", 0, with_value, unknown_here},
    Word{"epilog", 0, with_value, unknown_here},
    Word{"task-prolog", 0, with_value, unknown_here},
    Word{"task-epilog", 0, with_value, unknown_here},
    Word{"account", 'A', with_value, settled},
    Word{"acctg-freq", 0, with_value, settled},
    Word{"async", 0, alone, settled},
    Word{"bb", 0, with_value, settled},
    Word{"bbf", 0, with_value, settled},
    Word{"begin", 'b', with_value, settled},
    Word{"clusters", 'M', with_value, settled},
    Word{"cluster-constraint", 0, with_value, settled},
    Word{"comment", 0, with_value, settled},
    Word{"compress", 0, value_may_be, settled},
    Word{"constraint", 'C', with_value, settled},
    Word{"contiguous", 0, alone, settled},
    Word{"core-spec", 'S', with_value, settled},
    Word{"cores-per-socket", 0, with_value, settled},
    Word{"cpu-bind", 0, with_value, settled},
    Word{"cpu-freq", 0, with_value, settled},
    Word{"cpus-per-gpu", 0, with_value, settled},
    Word{"deadline", 0, with_value, settled},
    Word{"delay-boot", 0, with_value, settled},
    Word{"dependency", 'd', with_value, settled},
    Word{"disable-status", 'X', alone, settled},
    Word{"exact", 0, alone, settled},
    Word{"exclusive", 0, value_may_be, settled},
    Word{"extra-node-info", 'B', with_value, settled},
    Word{"get-user-env", 0, value_may_be, settled},
    Word{"gid", 0, with_value, settled},
    Word{"gpu-bind", 0, with_value, settled},
    Word{"gpu-freq", 0, with_value, settled},
    Word{"gpus-per-socket", 0, with_value, settled},
    Word{"gres-flags", 0, with_value, settled},
    Word{"hint", 0, with_value, settled},
    Word{"hold", 'H', alone, settled},
    Word{"immediate", 'I', value_may_be, settled},
    Word{"interactive", 0, alone, settled},
    Word{"jobid", 0, with_value, settled},
    Word{"licenses", 'L', with_value, settled},
    Word{"mail-type", 0, with_value, settled},
    Word{"mail-user", 0, with_value, settled},
    Word{"mcs-label", 0, with_value, settled},
    Word{"mem", 0, with_value, settled},
    Word{"mem-bind", 0, with_value, settled},
    Word{"mem-per-cpu", 0, with_value, settled},
    Word{"mem-per-gpu", 0, with_value, settled},
    Word{"mincpus", 0, with_value, settled},
    Word{"msg-timeout", 0, with_value, settled},
    Word{"network", 0, with_value, settled},
    Word{"nice", 0, value_may_be, settled},
    Word{"no-allocate", 'Z', alone, settled},
    Word{"no-kill", 'k', value_may_be, settled},
    Word{"ntasks-per-core", 0, with_value, settled},
    Word{"ntasks-per-socket", 0, with_value, settled},
    Word{"overlap", 0, alone, settled},
    Word{"oversubscribe", 's', alone, settled},
    Word{"power", 0, with_value, settled},
    Word{"preserve-env", 'E', alone, settled},
    Word{"priority", 0, with_value, settled},
    Word{"profile", 0, with_value, settled},
    Word{"propagate", 0, value_may_be, settled},
    Word{"qos", 'q', with_value, settled},
    Word{"quit-on-interrupt", 0, alone, settled},
    Word{"quotatype", 0, with_value, settled}, // of a plugin that many training scripts' authors have
    Word{"reboot", 0, alone, settled},
    Word{"reservation", 0, with_value, settled},
    Word{"send-libs", 0, value_may_be, settled},
    Word{"share", 0, alone, settled},
    Word{"signal", 0, with_value, settled},
    Word{"slurmd-debug", 0, with_value, settled},
    Word{"sockets-per-node", 0, with_value, settled},
    Word{"spread-job", 0, alone, settled},
    Word{"switches", 0, with_value, settled},
    Word{"thread-spec", 0, with_value, settled},
    Word{"threads", 'T', with_value, settled},
    Word{"threads-per-core", 0, with_value, settled},
    Word{"time", 't', with_value, settled},
    Word{"time-min", 0, with_value, settled},
    Word{"tmp", 0, with_value, settled},
    Word{"uid", 0, with_value, settled},
    Word{"use-min-nodes", 0, alone, settled},
    Word{"verbose", 'v', alone, settled},
    Word{"wckey", 0, with_value, settled},
    Word{"whole", 0, alone, settled},
};

constexpr int first_long = 1000;

const Word& word_of(int found) {
    if (found >= first_long) {
        return srun_words.at(static_cast<std::size_t>(found - first_long));
    }
    return *std::ranges::find(srun_words, static_cast<char>(found), &Word::letter);
}

std::string letters() {
    std::string text = "+:"; // options end at the command; "option requires an argument" is told apart
    for (const auto& word : srun_words) {
        if (word.letter != 0) {
            text += word.letter;
            text.append(static_cast<std::size_t>(word.takes), ':');
        }
    }
    return text;
}

Error unknown_option(const std::string& typed) {
    if (typed.starts_with("--container") || typed.starts_with("--no-container")) {
        return no_option(
            "unrecognized option '" + printable(typed) +
            "': the node is the container; leave it out, cluster.yaml has the image and its mounts");
    }
    return no_option("unrecognized option '" + printable(typed) + "'");
}

Status read_variables(Options& options, const Environment& environment) {
    for (const auto& word : srun_words) {
        const auto text = word.variable == nullptr ? std::nullopt : environment.get(word.variable);
        if (text && !text->empty() && !(word.takes == Takes::nothing && *text == "0")) {
            if (auto done = word.read(options, word.name, *text); !done) {
                return wrong(std::string(word.variable) + ": " + done.error().message);
            }
        }
    }
    return ok;
}

} // namespace

Result<SrunOptions> parse_srun(const std::vector<std::string>& arguments, const Environment& environment) {
    Options options;
    if (auto done = read_variables(options, environment); !done) {
        return done.error();
    }
    std::array<option, srun_words.size() + 1> longs{};
    for (std::size_t i = 0; i < srun_words.size(); ++i) {
        longs.at(i) = {.name = srun_words.at(i).name,
                       .has_arg = static_cast<int>(srun_words.at(i).takes),
                       .flag = nullptr,
                       .val = first_long + static_cast<int>(i)};
    }
    std::vector<std::string> own{"srun"};
    own.insert(own.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (auto& word : own) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const auto count_of_words = static_cast<int>(own.size());
    const auto shorts = letters();
    optind = 0; // from the beginning: glibc
    opterr = 0;
    for (int found = 0;
         (found = ::getopt_long(count_of_words, argv.data(), shorts.c_str(), longs.data(), nullptr)) != -1;) {
        const std::string typed = own.at(static_cast<std::size_t>(std::max(optind - 1, 1)));
        if (found == ':') {
            return no_option(typed.starts_with("--")
                                 ? "option '" + printable(typed) + "' requires an argument"
                                 : "option requires an argument -- '" +
                                       printable(typed.substr(typed.size() - 1)) + "'");
        }
        if (found == '?') {
            return unknown_option(
                optopt > 0 && optopt < first_long ? "-" + std::string(1, static_cast<char>(optopt)) : typed);
        }
        const auto& word = word_of(found);
        if (auto done = word.read(options, word.name, optarg == nullptr ? "" : optarg); !done) {
            return done.error();
        }
    }
    options.command.assign(own.begin() + optind, own.end());
    if (options.what == Options::What::run && options.command.empty()) {
        return wrong("No command given to execute.");
    }
    return options;
}

std::string srun_usage() {
    return R"(srun: runs a command as tasks on the nodes of this dockdist cluster, as Slurm's srun does
  srun [-N NODES] [-n TASKS] [--ntasks-per-node=K] [-w NODE,...] [-x NODE,...] [--gres=gpu:K | --gpus* ...] COMMAND...
Without -N and -n one task on each node. Slots are a node's CPUs; -O starts more tasks than there are.
  --label, -u          tasks' numbers before their lines; lines as they come
  -o, -e FILE          %t task, %N node, %n node's number, %j job, %% percent; written where srun runs
  -i FILE|TASK|none    what all tasks read as stdin; srun's own for that task alone; nothing
  -K[0|1], -W SECONDS  ends the others when a task fails; when one has ended
  --export=ALL|NONE|NAME[=VALUE],...   --chdir=FOLDER   -J NAME   -r, -O, -Q
What Slurm alone decides (-p, -t, --mem, --cpu-bind, ...) is read and of no effect here.
)";
}

} // namespace dockdist::node
