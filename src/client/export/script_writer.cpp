#include "client/export/script_writer.hpp"

#include "client/export/script_text.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

namespace dockdist {
namespace {

using Kind = WordPart::Kind;

bool is_spawner(const NodeLaunch& launch) {
    const auto& argv = launch.start.argv;
    return argv.size() > 1 && argv[0] == layout::init && argv[1] == "ranks";
}

// A variable, or a sum.
std::string number(const std::string& of, std::ptrdiff_t offset) {
    if (offset == 0) {
        return of.find(' ') == std::string::npos ? "$" + of : "$((" + of + "))";
    }
    return fmt::format("$(({} {} {}))", of, offset < 0 ? '-' : '+', std::abs(offset));
}

bool ends_in_rank(const std::vector<std::string>& argv) {
    return argv.size() > 1 && argv[argv.size() - 2] == layout::init && argv.back() == "rank";
}

} // namespace

void ScriptWriter::look() {
    for (const auto& launch : launches_) {
        const auto& start = launch.start;
        spawns_ = spawns_ || is_spawner(launch);
        leads_ = leads_ || start.leaves_servers;
        has_folder_ = has_folder_ || !start.files.empty();
        calls_rank_ = calls_rank_ || (!is_spawner(launch) && !ends_in_rank(start.argv) &&
                                      std::ranges::find(start.argv, layout::init) != start.argv.end());
    }
}

std::string ScriptWriter::by_groups(const BodyOf& body) const {
    const auto nodes = launches_.size();
    if (const auto all = body(0, nodes)) {
        return *all;
    }
    std::string text = "case $NODE_RANK in\n";
    for (std::size_t first = 0; first < nodes && text.size() < most_of_a_word;) {
        auto end = nodes;
        auto found = first == 0 ? std::nullopt : body(first, nodes);
        if (!found) {
            end = end_of_group(first, body);
            found = body(first, end);
        }
        std::string label;
        for (std::size_t i = first; i < end; ++i) {
            label += (label.empty() ? "" : "|") + std::to_string(i);
        }
        text += (end == nodes ? "*" : label) + ")\n" + found.value_or("") + ";;\n";
        first = end;
    }
    return text + "esac\n";
}

// One node has a text, and so has each part of a group that has one.
std::size_t ScriptWriter::end_of_group(std::size_t first, const BodyOf& body) const {
    const auto nodes = launches_.size();
    const auto has = [&](std::size_t end) { return end <= nodes && body(first, end).has_value(); };
    std::size_t end = first + 1;
    std::size_t step = 1;
    for (; has(end + step); step *= 2) {
        end += step;
    }
    for (step /= 2; step > 0; step /= 2) {
        end += has(end + step) ? step : 0;
    }
    return end;
}

std::string ScriptWriter::variable(const WordPart& part) {
    switch (part.kind) {
    case Kind::address:
        if (part.index == 0) {
            return "$MASTER_ADDR";
        }
        if (part.index < words_.addresses.size()) {
            uses_addresses_ = true;
            return words_.addresses[part.index];
        }
        refusal_ = "it names every node's address, and these are not known here";
        return "";
    case Kind::own_address:
        uses_own_ = true;
        return "$NODE_ADDR";
    case Kind::port:
        return part.index == 0 ? "$MASTER_PORT" : fmt::format("$((MASTER_PORT + {}))", part.index);
    case Kind::job:
        return words_.job;
    case Kind::secret:
        if (words_.secret.empty()) {
            refusal_ = "its nodes share a secret, and there is none";
        }
        uses_secret_ = true;
        return words_.secret;
    case Kind::folder:
        has_folder_ = true;
        return "$job_folder";
    case Kind::node_rank:
        return number("NODE_RANK", part.offset);
    case Kind::ranks:
        uses_ranks_ = true;
        return "$slots";
    case Kind::first_rank:
        if (!uneven_) {
            return number(fmt::format("NODE_RANK * {}", launches_.front().ranks), part.offset);
        }
        uses_first_ = true;
        return number("first_rank", part.offset);
    case Kind::text:
        break;
    }
    return "";
}

ScriptWriter::Text ScriptWriter::word(std::size_t first, std::size_t end,
                                      const std::function<std::string_view(std::size_t node)>& of) {
    std::vector<std::string_view> words;
    for (std::size_t i = first; i < end; ++i) {
        words.push_back(of(i));
    }
    const auto one = unify(markers_, words, first, numbers_);
    return one ? Text(to_shell(*one, [this](const WordPart& part) { return variable(part); })) : std::nullopt;
}

// Images without a `python` have a `python3`: dockdist takes that, and so does the script.
std::string ScriptWriter::program(const std::string& word, const std::string& shell) {
    uses_python_ = uses_python_ || word == "python";
    return word == "python" ? "\"$python\"" : shell;
}

std::string ScriptWriter::user_words(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += text.empty() ? program(word, shell_quote(word)) : " " + shell_quote(word);
    }
    return text;
}

// Where `--local_rank=N` stands among the words, it is the rank's own variable.
std::string ScriptWriter::rank_words(const NodeLaunch& launch) {
    const auto& words = launch.start.rank_command;
    if (launch.start.local_rank_at < 0) {
        return user_words(words);
    }
    const auto at = words.begin() + launch.start.local_rank_at;
    const auto inner = "exec " + user_words({words.begin(), at}) + " " + launch.start.local_rank_option +
                       "=\"$LOCAL_RANK\" \"$@\"";
    const std::vector<std::string> rest(at, words.end());
    return "sh -c " + shell_quote(inner) + " sh" + (rest.empty() ? "" : " " + shell_join(rest));
}

// The variables of a job of ours that the script sets, each by itself: a case of every node that repeated
// what all nodes have alike would be long. Slurm's own are not written over where Slurm has set them.
std::string ScriptWriter::exports(const std::function<const Variables*(std::size_t node)>& of) {
    std::vector<const Variables*> variables;
    std::set<std::string> names;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
        variables.push_back(of(i));
        for (const auto& [name, value] : *variables.back()) {
            const bool said = name == "MASTER_ADDR" || name == "MASTER_PORT" || name == "NODE_RANK";
            const bool slurms = words_.starts_slots && name.starts_with("SLURM");
            if (!said && !slurms && !job_.own_env.contains(name)) {
                names.insert(name);
            }
        }
    }
    std::string text;
    for (const auto& name : names) {
        const auto has = [&](std::size_t node) { return variables[node]->contains(name); };
        text += by_groups([&](std::size_t first, std::size_t end) -> Text {
            for (std::size_t i = first; i < end; ++i) {
                if (has(i) != has(first)) {
                    return std::nullopt;
                }
            }
            if (!has(first)) {
                return "";
            }
            const auto value = word(
                first, end, [&](std::size_t node) -> std::string_view { return variables[node]->at(name); });
            return value ? Text("export " + name + "=" + *value + "\n") : std::nullopt;
        });
    }
    return text;
}

ScriptWriter::Text ScriptWriter::files(std::size_t first, std::size_t end) {
    std::string text;
    const auto& paths = launches_[first].start.files;
    for (std::size_t i = first; i < end; ++i) {
        if (launches_[i].start.files.size() != paths.size()) {
            return std::nullopt;
        }
    }
    for (const auto& [path, ignored] : paths) {
        std::vector<std::string_view> contents;
        for (std::size_t i = first; i < end; ++i) {
            const auto found = launches_[i].start.files.find(path);
            if (found == launches_[i].start.files.end()) {
                return std::nullopt;
            }
            contents.push_back(found->second);
        }
        const auto content = unify(markers_, contents, first, numbers_);
        if (!content) {
            return std::nullopt;
        }
        const auto of = [this](const WordPart& part) { return variable(part); };
        const auto file = to_shell(markers_.read(path), of);
        if (!contents.front().ends_with('\n')) {
            text += "printf %s " + to_shell(*content, of) + " >" + file + "\n";
        } else if (is_text(*content)) {
            text += here_document(file, std::string(contents.front()), true);
        } else {
            text += here_document(file, to_here_document(*content, of), false);
        }
    }
    return text;
}

ScriptWriter::Text ScriptWriter::command(std::size_t first, std::size_t end) {
    const auto& front = launches_[first].start;
    const bool with_rank = ends_in_rank(front.argv);
    for (std::size_t i = first; i < end; ++i) {
        if (launches_[i].start.argv.size() != front.argv.size() ||
            launches_[i].start.rank_command != front.rank_command) {
            return std::nullopt;
        }
    }
    const auto count = front.argv.size() - (with_rank ? 2 : 0);
    // What the user has written is no launcher's word: it is taken as it is.
    std::string text = has_folder_ ? "run" : "exec";
    for (std::size_t place = 0; place < count; ++place) {
        if (front.argv[place] == layout::init) {
            text += " \"$job_folder/rank\"";
            continue;
        }
        const auto shell = word(first, end, [&](std::size_t node) -> std::string_view {
            return launches_[node].start.argv[place];
        });
        if (!shell) {
            return std::nullopt;
        }
        text += " " + (place == 0 ? program(front.argv[0], *shell) : *shell);
    }
    if (with_rank) {
        text += " \\\n    " + rank_words(launches_[first]);
    }
    return text + "\n";
}

std::string ScriptWriter::rank_environments() {
    std::size_t most = 0;
    for (const auto& launch : launches_) {
        most = std::max(most, launch.start.rank_env.size());
    }
    const Variables none;
    std::string text;
    for (std::size_t local_rank = 0; local_rank < most; ++local_rank) {
        const auto one = exports([&](std::size_t node) {
            const auto& all = launches_[node].start.rank_env;
            return local_rank < all.size() ? &all[local_rank] : &none;
        });
        text += most == 1 ? one : std::to_string(local_rank) + ")\n" + one + ";;\n";
    }
    return most > 1 ? "case $LOCAL_RANK in\n" + text + "esac\n" : text;
}

// The ranks of a launcher that leaves them to `dockdist-init ranks`.
std::string ScriptWriter::ranks() {
    const int world = launches_.back().first_rank + launches_.back().ranks;
    const auto& front = launches_.front();
    std::string text = fmt::format("export WORLD_SIZE={}\n", world);
    const bool one = !uneven_ && front.ranks == 1 && !leads_;
    uses_ranks_ = uses_ranks_ || !one;
    uses_first_ = uses_first_ || !one;
    if (one) {
        text += "export LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 RANK=\"$NODE_RANK\"\n";
    } else {
        text += "export LOCAL_WORLD_SIZE=\"$slots\"\n";
    }
    std::string slurm;
    if (front.start.env.contains("SLURM_JOB_ID") && !words_.starts_slots) {
        slurm = "export SLURM_PROCID=\"$RANK\" SLURM_LOCALID=\"$LOCAL_RANK\"\n";
    }
    const auto own = slurm + rank_environments();
    if (one) {
        return text + own + "exec " + rank_words(front) + "\n";
    }
    has_folder_ = true;
    return text + "start_rank() {\n" + own + "exec " + rank_words(front) + "\n}\n" +
           rank_loop(leads_, words_.grace);
}

// Slots and first ranks, where something names them and they differ.
std::string ScriptWriter::numbers() const {
    if (!uses_ranks_ && !uses_first_) {
        return "";
    }
    if (!uneven_) {
        return fmt::format("slots={} first_rank=$((NODE_RANK * {}))\n", launches_.front().ranks,
                           launches_.front().ranks);
    }
    std::string text = "case $NODE_RANK in\n";
    for (std::size_t i = 0; i < launches_.size(); ++i) {
        text += fmt::format("{}) slots={} first_rank={} ;;\n",
                            i + 1 == launches_.size() ? "*" : std::to_string(i), launches_[i].ranks,
                            launches_[i].first_rank);
    }
    return text + "esac\n";
}

std::string ScriptWriter::header(bool folder) const {
    std::string text;
    const auto set = [&](const std::string& name, const std::string& value) {
        if (!job_.own_env.contains(name) && value != "$" + name) {
            text += "export " + name + "=\"" + value + "\"\n";
        }
    };
    set("NODE_RANK", words_.node_rank);
    set("MASTER_ADDR", words_.master_addr);
    set("MASTER_PORT", words_.master_port);
    if (uses_own_) {
        text += "NODE_ADDR=\"" + words_.node_addr + "\"\n";
    }
    text += numbers();
    if (uses_python_) {
        text += "python=python\ncommand -v python >/dev/null || python=python3\nexport python\n";
    }
    if (folder) {
        text += "mkdir -p \"${TMPDIR:-/tmp}\"\njob_folder=$(mktemp -d) || exit 1\ntrap 'rm -rf "
                "\"$job_folder\"' EXIT\n";
    }
    return text;
}

Result<NodeScript> ScriptWriter::write() {
    look();
    NodeScript script;
    script.ends_with_first = launches_.size() > 1 && launches_[1].hosts_remote_ranks;
    const bool plain_ranks = spawns_ && !leads_ && !uneven_ && launches_.front().start.rank_env.empty();
    const auto env_of = [this](std::size_t node) { return &launches_[node].start.env; };
    std::string body;
    if (plain_ranks && words_.starts_slots) {
        script.one_a_slot = true;
        script.processes = launches_.front().ranks;
        body = exports(env_of) + "exec " + rank_words(launches_.front()) + "\n";
    } else {
        has_folder_ = has_folder_ || calls_rank_;
        const auto env = exports(env_of);
        auto files = by_groups([&](std::size_t first, std::size_t end) { return this->files(first, end); });
        if (calls_rank_) {
            files += here_document("\"$job_folder/rank\"",
                                   "#!/bin/sh\nexec " + rank_words(launches_.front()) + "\n", true) +
                     "chmod +x \"$job_folder/rank\"\n";
        }
        const auto start =
            spawns_ ? ranks()
                    : by_groups([&](std::size_t first, std::size_t end) { return command(first, end); });
        body = env + files + start;
        if (has_folder_) {
            body = std::string(run_function_sh) + body;
        }
    }
    if (!refusal_.empty()) {
        return Error{ErrorKind::usage, "--launcher",
                     fmt::format("the launcher {} cannot be exported to {}: {}", job_.launcher.name,
                                 words_.engine, refusal_),
                     "use another one: torchrun needs neither"};
    }
    script.text = header(has_folder_) + body;
    script.names_own_address = uses_own_;
    script.names_addresses = uses_addresses_;
    script.names_secret = uses_secret_;
    return script;
}

} // namespace dockdist
