#include "shared/launch/launch_line.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace dockdist {
namespace {

using Words = std::span<const std::string>;

struct Known {
    std::string_view program{};
    std::string_view launcher{};
    std::string_view subcommand{}; // what makes it start processes; empty: it does so without
};
constexpr std::array known{Known{"torchrun", "torchrun"},
                           Known{"deepspeed", "deepspeed"},
                           Known{"accelerate", "accelerate", "launch"},
                           Known{"accelerate-launch", "accelerate"},
                           Known{"mpirun", "mpirun"},
                           Known{"mpiexec", "mpirun"},
                           Known{"orterun", "mpirun"},
                           Known{"prterun", "mpirun"},
                           Known{"horovodrun", "horovodrun"},
                           Known{"srun", "slurm"},
                           Known{"ray", "ray", "start"}};
constexpr std::array known_modules{Known{"torch.distributed.run", "torchrun"},
                                   Known{"torch.distributed.launch", "torch.distributed.launch"},
                                   Known{"torch.distributed.elastic.run", "torchrun"},
                                   Known{"deepspeed.launcher.runner", "deepspeed"},
                                   Known{"accelerate.commands.launch", "accelerate"},
                                   Known{"accelerate.commands.accelerate_cli", "accelerate", "launch"}};
// Programs that start the one that is named behind their own words.
constexpr std::array<std::string_view, 22> wrappers{
    "env",     "exec",    "nohup", "nice",       "ionice", "time", "timeout", "stdbuf",
    "numactl", "taskset", "chrt",  "sudo",       "setsid", "uv",   "rye",     "poetry",
    "pipenv",  "pdm",     "conda", "micromamba", "mamba",  "pixi"};
constexpr std::array<std::string_view, 5> shells{"sh", "bash", "dash", "zsh", "ash"};
// What tells the nodes of a job apart: a script with one of these says what each node is to do.
constexpr std::array<std::string_view, 6> words_of_a_node{"NNODES",   "NODE_RANK",  "MASTER_ADDR",
                                                          "HOSTNAME", "SLURM_PROC", "SLURM_NODE"};

template <class Names>
bool is_among(const Names& names, std::string_view word) {
    return std::ranges::find(names, word) != std::end(names);
}

std::string_view base_name(std::string_view word) {
    return word.substr(word.rfind('/') + 1);
}

bool is_assignment(std::string_view word) {
    const auto equals = word.find('=');
    return equals != std::string_view::npos && equals > 0 &&
           std::ranges::all_of(word.substr(0, equals),
                               [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

bool asks_for_words_alone(Words options) {
    return std::ranges::any_of(options, [](std::string_view word) {
        return word == "--help" || word == "--version" || word == "-h" || word == "-V";
    });
}

bool is_program(std::string_view word) {
    return word.ends_with(".py") || word.ends_with(".sh") || base_name(word).starts_with("python") ||
           word.starts_with("./") || word.starts_with('/');
}

// The launcher's own options end where a program, a script or a module is named that is no option's value.
std::size_t begin_of_command(Words words) {
    constexpr std::array<std::string_view, 5> without_value{"--no_python", "--no-python", "--standalone",
                                                            "--allow-run-as-root", "--oversubscribe"};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "-m" || word == "--module") {
            return i;
        }
        const std::string_view before = i == 0 ? std::string_view() : std::string_view(words[i - 1]);
        const bool is_value = before.starts_with('-') && before.find('=') == std::string_view::npos &&
                              !is_among(without_value, before);
        const bool is_script = word.ends_with(".py") || base_name(word).starts_with("python");
        if (!word.starts_with('-') && is_program(word) && (is_script || !is_value)) {
            return i;
        }
    }
    return words.size();
}

// The value of `--a_b N`, `--a-b=N`.
std::optional<std::string> value_of(Words options, std::string_view name) {
    for (std::size_t i = 0; i < options.size(); ++i) {
        auto word = options[i].substr(0, options[i].find('='));
        std::ranges::replace(word, '-', '_');
        if (word.substr(word.find_first_not_of('_') == std::string::npos ? 0 : word.find_first_not_of('_')) !=
            name) {
            continue;
        }
        if (const auto equals = options[i].find('='); equals != std::string::npos) {
            return options[i].substr(equals + 1);
        }
        return i + 1 < options.size() ? std::optional(options[i + 1]) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<LaunchLine> read_options(const Known& found, std::string program, Words words) {
    const auto at = begin_of_command(words);
    const auto options = words.first(at);
    if (at == words.size() && asks_for_words_alone(words)) {
        return std::nullopt;
    }
    LaunchLine line{.launcher = found.launcher, .program = std::move(program)};
    line.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    if (!line.command.empty() && line.command.front() == "--module") {
        line.command.front() = "-m";
    }
    for (const auto* name : {"nproc_per_node", "num_gpus", "npernode", "ppn", "ntasks_per_node"}) {
        if (const auto value = value_of(options, name)) {
            line.per_node = whole_number<int>(*value);
        }
    }
    const auto nodes = value_of(options, "nnodes");
    line.meets_others =
        nodes && *nodes != "1" && *nodes != "1:1" && value_of(options, "rdzv_endpoint").has_value();
    return line;
}

std::optional<LaunchLine> line_at(Words words) {
    const auto program = base_name(words.front());
    const auto* found = std::ranges::find(known, program, &Known::program);
    if (found != known.end()) {
        const auto rest = words.subspan(1);
        if (found->subcommand.empty()) {
            return read_options(*found, words.front(), rest);
        }
        return !rest.empty() && rest.front() == found->subcommand
                   ? read_options(*found, words.front() + " " + rest.front(), rest.subspan(1))
                   : std::nullopt;
    }
    if (!program.starts_with("python")) {
        return std::nullopt;
    }
    for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
        if (words[i] != "-m") {
            continue;
        }
        const auto* module = std::ranges::find(known_modules, words[i + 1], &Known::program);
        const auto rest = words.subspan(i + 2);
        const bool with = module != known_modules.end() && !module->subcommand.empty();
        if (module == known_modules.end() || (with && (rest.empty() || rest.front() != module->subcommand))) {
            return std::nullopt;
        }
        return read_options(*module, words.front() + " -m " + words[i + 1], with ? rest.subspan(1) : rest);
    }
    return std::nullopt;
}

// The first command of a shell's script that launches; none where the script tells nodes apart.
std::optional<LaunchLine> line_in_script(std::string_view script) {
    if (std::ranges::any_of(words_of_a_node, [&](std::string_view word) {
            return script.find(word) != std::string_view::npos;
        })) {
        return std::nullopt;
    }
    std::string spaced;
    for (const char c : script) {
        spaced += c == ';' || c == '&' || c == '|' || c == '\n' ? std::string(" ; ")
                                                                : std::string(1, c == '\t' ? ' ' : c);
    }
    bool begins = true;
    for (const auto& word : split(spaced, ' ')) {
        if (word.empty()) {
            continue;
        }
        if (begins && is_among(shells, base_name(word))) {
            return std::nullopt;
        }
        if (const auto* found = std::ranges::find(known, base_name(word), &Known::program);
            begins && found != known.end() && found->subcommand.empty() &&
            !asks_for_words_alone(split(script, ' '))) {
            return LaunchLine{.launcher = found->launcher, .program = word};
        }
        begins = word == ";" || (begins && (is_assignment(word) || is_among(wrappers, base_name(word))));
    }
    return std::nullopt;
}

} // namespace

std::optional<LaunchLine> launch_line(const std::vector<std::string>& command) {
    if (command.empty()) {
        return std::nullopt;
    }
    const Words words(command);
    if (is_among(shells, base_name(command.front()))) {
        for (std::size_t i = 1; i + 1 < command.size() && command[i].starts_with('-'); ++i) {
            if (command[i].ends_with('c')) { // -c, -lc, -ec
                return line_in_script(command[i + 1]);
            }
        }
        return std::nullopt;
    }
    const bool wrapped = is_among(wrappers, base_name(command.front()));
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (auto line = line_at(words.subspan(i))) {
            return line;
        }
        if (!wrapped || words[i].ends_with(".py") || is_among(shells, base_name(words[i]))) {
            break;
        }
    }
    return std::nullopt;
}

std::optional<Error> on_each_node(const std::vector<std::string>& command, std::size_t nodes) {
    const auto line = launch_line(command);
    if (nodes < 2 || !line || line->meets_others) {
        return std::nullopt;
    }
    constexpr std::size_t longest = 160;
    auto meant = shell_join(line->command);
    if (meant.empty() || meant.size() > longest) {
        meant = "train.py …";
    }
    const auto program = printable(line->program);
    return Error{
        ErrorKind::usage, "",
        "`" + program + "` would start on each of the " + std::to_string(nodes) +
            " nodes by itself: " + std::to_string(nodes) + " jobs that know nothing about each other",
        "for one job over all of them: `dockdist run --launcher " + std::string(line->launcher) +
            (line->per_node ? " --gpus " + std::to_string(*line->per_node) : "") + " -- " + printable(meant) +
            "`; for the line as it is, on one node only: --nodes 1, or on each: "
            "--launcher plain"};
}

} // namespace dockdist
