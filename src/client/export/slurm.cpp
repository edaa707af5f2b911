#include "client/export/slurm.hpp"

#include "client/export/node_script.hpp"
#include "client/export/slurm_container.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::chrono::seconds most_warning{65535}; // sbatch(1), --signal

// "1-02:30:00"; Slurm counts minutes.
std::string time_limit(std::chrono::milliseconds time) {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(time).count();
    const auto hours = minutes / 60;
    const auto clock = fmt::format("{:02}:{:02}:00", hours % 24, minutes % 60);
    return hours < 24 ? clock : fmt::format("{}-{}", hours / 24, clock);
}

std::chrono::seconds seconds_of(std::chrono::milliseconds time) {
    return std::chrono::ceil<std::chrono::seconds>(time);
}

// As sbatch (22.05) reads such a line: a bare `#` ends it, blanks split it but between double quotes, and a
// backslash takes what stands behind it as it is.
std::string sbatch_line(const std::string& option) {
    std::string text;
    for (const char c : option) {
        text += std::string_view("#\"\\").find(c) == std::string_view::npos ? "" : "\\";
        text += c;
    }
    const bool bare = option.find_first_of(" \t\"'\\") == std::string::npos;
    return "#SBATCH " + (bare ? text : "\"" + text + "\"") + "\n";
}

ScriptWords words_for(const ExportJob& job) {
    ScriptWords words{
        .engine = "Slurm",
        .node_rank = "$NODE_RANK",
        .master_addr = "$MASTER_ADDR",
        .master_port = "$MASTER_PORT",
        .node_addr = "$(echo \"$NODE_ADDRS\" | cut -d ' ' -f \"$((NODE_RANK + 1))\")",
        .job = "$SLURM_JOB_ID",
        .secret = "$JOB_SECRET",
        .no_ssh_hint =
            "--launcher slurm starts a task a slot by srun, which gives MPI programs what they need "
            "with `--srun=--mpi=pmix`; or use torchrun, deepspeed or accelerate without --via",
        .starts_slots = true,
        .grace = std::max(seconds_of(job.grace), std::chrono::seconds(1))};
    for (std::size_t i = 0; i < job.request.nodes.size(); ++i) {
        words.addresses.push_back(fmt::format("$NODE_ADDR_{}", i));
    }
    return words;
}

std::string options_of_sbatch(const ExportJob& job, const NodeScript& script, const SlurmOptions& options) {
    std::string text = sbatch_line("--job-name=" + job.name) +
                       sbatch_line(fmt::format("--nodes={}", job.request.nodes.size())) +
                       sbatch_line(fmt::format("--ntasks-per-node={}", script.processes));
    if (job.gpus > 0) {
        text += sbatch_line(fmt::format("--gpus-per-node={}", job.gpus));
    }
    if (job.whole_nodes) { // as a container of dockdist's has all processors and memory of its host
        text += sbatch_line("--exclusive") + sbatch_line("--mem=0");
    }
    if (job.timeout.count() > 0) {
        text += sbatch_line("--time=" + time_limit(job.timeout + job.grace));
        if (job.grace.count() > 0) {
            text += sbatch_line(fmt::format("--signal=TERM@{}", seconds_of(job.grace).count()));
        }
    }
    text += sbatch_line(job.max_restarts > 0 ? "--requeue" : "--no-requeue");
    for (const auto& option : options.sbatch) {
        text += sbatch_line(option);
    }
    return text;
}

// In each node's own script: the batch script runs on the host, by the host's PATH.
std::string environment_of(const ExportJob& job) {
    std::string text;
    for (const auto& [name, value] : job.env) {
        text += "export " + name + "=" + shell_quote(value) + "\n";
    }
    return text;
}

std::string secrets_of(const ExportJob& job) {
    std::string text;
    for (const auto& name : job.secrets) {
        text += ": \"${" + name + "?is a secret of the job: export it before sbatch, which hands it on}\"\n";
    }
    return text + (text.empty() ? "" : "\n");
}

// By names, as scripts for Slurm do; by numbers for launchers that compare addresses, or name all nodes.
std::string addresses_of(const ExportJob& job, const NodeScript& script) {
    std::string text;
    if (script.names_own_address || script.names_addresses) {
        text = R"(address_of() {
    { getent ahostsv4 "$1"; getent ahosts "$1"; } | awk '$1 !~ /^(127\.|::1$|::ffff:127\.)/ { print $1; exit }'
}
NODE_ADDRS=
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    address=$(address_of "$node")
    NODE_ADDRS="$NODE_ADDRS${NODE_ADDRS:+ }${address:-$node}"
done
export NODE_ADDRS
)";
    }
    if (script.names_addresses) {
        text += R"(read -r -a addresses <<<"$NODE_ADDRS"
for i in "${!addresses[@]}"; do
    export "NODE_ADDR_$i=${addresses[i]}"
done
)";
    }
    if (!job.own_env.contains("MASTER_ADDR")) {
        text += text.empty() ? "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
                             : "MASTER_ADDR=${NODE_ADDRS%% *}\n";
        text += "export MASTER_ADDR\n";
    }
    if (!job.own_env.contains("MASTER_PORT")) {
        text += "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\n";
    }
    if (script.names_secret) {
        text += "JOB_SECRET=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')\nexport JOB_SECRET\n";
    }
    return text + "\n";
}

std::string text_of_node(const ExportJob& job, const NodeScript& script) {
    std::string text = environment_of(job) + "export NODE_RANK=" +
                       (script.ends_with_first ? "$((SLURM_NODEID + FIRST_NODE))" : "\"$SLURM_NODEID\"") +
                       "\n";
    if (script.one_a_slot) {
        text += fmt::format("export RANK=\"$SLURM_PROCID\" LOCAL_RANK=\"$SLURM_LOCALID\"\n"
                            "export WORLD_SIZE={} LOCAL_WORLD_SIZE={}\n",
                            job.request.nodes.size() * static_cast<std::size_t>(script.processes),
                            script.processes);
    }
    return text + script.text;
}

std::string node_script_lines(const NodeScript& script, const std::string& text) {
    std::string end = "END_OF_NODE";
    while (text.find(end) != std::string::npos) {
        end += "_";
    }
    return "# What each " + std::string(script.one_a_slot ? "task" : "node") +
           " runs.\nIFS= read -r -d '' node_script <<'" + end + "'\n" + text + end + "\n\n";
}

std::string step_lines(const SlurmStep& step, const SlurmOptions& options) {
    std::vector<std::string> words{"--kill-on-bad-exit=1", "--distribution=block", "--cpu-bind=none"};
    words.insert(words.end(), step.options.begin(), step.options.end());
    words.insert(words.end(), options.srun.begin(), options.srun.end());
    std::string text = "step=(\n";
    for (const auto& word : words) {
        // Bare commas would be sound, but are what somebody writes who takes them for separators.
        const bool bare = shell_quote(word) == word && word.find(',') != std::string::npos;
        text += "    " + (bare ? "'" + word + "'" : shell_quote(word)) + "\n";
    }
    return text + ")\n";
}

// The steps of one attempt, which leave `code`.
std::string run_lines(const ExportJob& job, const NodeScript& script) {
    if (!script.ends_with_first) {
        return "srun \"${step[@]}\" sh -c \"$node_script\"\ncode=$?\n";
    }
    const auto others = job.request.nodes.size() - 1;
    return fmt::format(R"(# The first node ends the job; the others serve it until then.
FIRST_NODE=1 srun "${{step[@]}}" --relative=1 --nodes={0} --ntasks={0} sh -c "$node_script" &
others=$!
FIRST_NODE=0 srun "${{step[@]}}" --relative=0 --nodes=1 --ntasks=1 sh -c "$node_script"
code=$?
# To the steps that are left, not to this script: srun itself would end them at once.
scancel --signal=TERM "$SLURM_JOB_ID"
{{ sleep {1}; kill "$others"; }} 2>/dev/null &
limit=$!
wait "$others"
kill "$limit" 2>/dev/null
)",
                       others, std::max(seconds_of(job.grace), std::chrono::seconds(1)).count());
}

std::string indented(const std::string& lines) {
    std::string text;
    for (const auto& line : split(lines.substr(0, lines.size() - 1), '\n')) {
        text += "    " + line + "\n";
    }
    return text;
}

std::string with_restarts(const ExportJob& job, const std::string& lines) {
    if (job.max_restarts == 0) {
        return lines + "exit \"$code\"\n";
    }
    constexpr std::chrono::seconds longest{30}; // as between the attempts of a job of dockdist's
    constexpr std::chrono::seconds early{60};   // that much before its time Slurm may send the signal
    const auto limit = seconds_of(job.timeout);
    const auto over = job.timeout.count() == 0 ? std::string()
                                               : fmt::format(R"( || [ "$SECONDS" -ge {} ])",
                                                             std::max(limit - early, limit / 2).count());
    return fmt::format(R"(pause={}
for restart in {{1..{}}} last; do
{}    if [ "$code" -eq 0 ] || [ "$restart" = last ]{}; then
        break
    fi
    echo "exit code $code: restart $restart of {} in $pause s" >&2
    sleep "$pause"
    pause=$((pause < 15 ? 2 * pause : 30))
done
exit "$code"
)",
                       std::min(seconds_of(job.backoff), longest).count(), job.max_restarts, indented(lines),
                       over, job.max_restarts);
}

} // namespace

Result<Exported> export_slurm(ExportJob job, const SlurmOptions& options) {
    take_out(job, [&](const std::string& name) {
        const bool of_script = name == "MASTER_ADDR" || name == "MASTER_PORT";
        return name.starts_with("SLURM_") || (of_script && !job.own_env.contains(name));
    });
    for (const auto& option : options.sbatch) {
        if (option.find('\n') != std::string::npos) {
            return Error{ErrorKind::usage, "--sbatch", "a line of options cannot contain a line break",
                         "leave it out: " + printable(option)};
        }
    }
    if (job.timeout.count() > 0 && job.grace > most_warning) {
        return Error{ErrorKind::usage, "--grace",
                     fmt::format("Slurm's warning comes at most {} s before the end", most_warning.count()),
                     "give it less"};
    }
    auto step = options.container ? container_step(job, options) : plain_step(job);
    TRY(step);
    const auto script = node_script(job, words_for(job));
    TRY(script);
    const auto text = text_of_node(job, *script);
    TRY(fits_one_word(job, text));
    auto& mapped = step->mapped;
    mapped.insert({"--timeout", "--grace", "--max-restarts", "--backoff", "--image", "--sbatch", "--srun",
                   "--no-container"});
    Exported exported{.warnings = unmapped(job, "Slurm", mapped)};
    std::ranges::move(step->warnings, std::back_inserter(exported.warnings));
    std::ranges::move(job.warnings, std::back_inserter(exported.warnings));
    if (!job.whole_nodes) {
        exported.warnings.push_back(
            {ErrorKind::usage, "--gpus",
             "with a part of a node's GPUs the job gets Slurm's own share of processors and memory",
             "ask for what it needs: --sbatch=--cpus-per-gpu=N --sbatch=--mem-per-gpu=SIZE"});
    }
    exported.text =
        "#!/bin/bash\n# Written by `dockdist export slurm`, " +
        std::string(options.container ? "for Slurm with pyxis and enroot" : "without containers") +
        ": `sbatch` it.\n" + options_of_sbatch(job, *script, options) + "\n" + secrets_of(job) +
        addresses_of(job, *script) + node_script_lines(*script, text) + step_lines(*step, options) +
        with_restarts(job, run_lines(job, *script));
    return exported;
}

} // namespace dockdist
