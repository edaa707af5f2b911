#include "node/job/srun/srun_options.hpp"

#include "node/job/srun/srun_words.hpp"
#include "node/system/program.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <getopt.h>
#include <span>

namespace dockdist::node {
namespace {

Error wrong_word(const std::string& message) {
    return Error{.kind = ErrorKind::config, .message = message};
}

Error no_option(const std::string& message) {
    return Error{.kind = ErrorKind::usage, .message = message};
}

constexpr int first_long = 1000;

const SrunWord& word_of(std::span<const SrunWord> words, int found) {
    if (found >= first_long) {
        return words[static_cast<std::size_t>(found - first_long)];
    }
    return *std::ranges::find(words, static_cast<char>(found), &SrunWord::letter);
}

std::string letters(std::span<const SrunWord> words) {
    std::string text = "+:"; // options end at the command; "option requires an argument" is told apart
    for (const auto& word : words) {
        if (word.letter != 0) {
            text += word.letter;
            text.append(static_cast<std::size_t>(word.takes), ':');
        }
    }
    return text;
}

Status read_word(SrunOptions& options, const SrunWord& word, std::string_view value) {
    return word.read == nullptr ? Status(ok) : word.read(options, word.name, value);
}

Status read_variables(SrunOptions& options, const Environment& environment) {
    for (const auto& word : srun_words()) {
        const auto text = word.variable == nullptr ? std::nullopt : environment.get(word.variable);
        if (text && !text->empty() && !(word.takes == Takes::nothing && *text == "0")) {
            if (auto done = read_word(options, word, *text); !done) {
                return wrong_word(std::string(word.variable) + ": " + done.error().message);
            }
        }
    }
    return ok;
}

bool is_program_here(const std::string& word, const Environment& environment) {
    return !word.empty() && word.find('/') == std::string::npos &&
           !find_program(word, environment).path.empty();
}

// One line's options, by getopt_long.
class OptionLine {
public:
    OptionLine(std::span<const SrunWord> words, const std::vector<std::string>& arguments)
        : words_(words), own_{"srun"} {
        own_.insert(own_.end(), arguments.begin(), arguments.end());
    }

    // `skips`: an option that nobody knows is a remark.
    Status read(SrunOptions& options, bool skips = false);
    // What follows the options.
    std::vector<std::string> rest() const { return {own_.begin() + end_, own_.end()}; }
    // Of an unquoted variable that is empty nothing is left, and the option before it takes the next word:
    // the command, where that is a program and what follows it is none.
    bool give_back_command(SrunOptions& options, const Environment& environment);

private:
    Status judge(SrunOptions& options, const SrunWord& word, const char* value);
    Error lacks_value(const std::string& typed) const;

    std::span<const SrunWord> words_;
    std::vector<std::string> own_;
    int end_ = 1;
    int taken_ = 0; // the last word that an option has taken for its value
};

Error OptionLine::lacks_value(const std::string& typed) const {
    return no_option(typed.starts_with("--") ? "option '" + printable(typed) + "' requires an argument"
                                             : "option requires an argument -- '" +
                                                   printable(typed.substr(typed.size() - 1)) + "'");
}

Status OptionLine::judge(SrunOptions& options, const SrunWord& word, const char* value) {
    const auto at = static_cast<std::size_t>(std::max(optind - 1, 1));
    if (word.takes != Takes::value || value != own_[at].c_str()) {
        return read_word(options, word, value == nullptr ? "" : value);
    }
    if (own_[at].size() > 1 && own_[at].front() == '-' &&
        std::isdigit(static_cast<unsigned char>(own_[at][1])) == 0) { // the next option
        optind -= 1;
        if (word.read != nullptr) {
            return lacks_value(own_[at - 1]);
        }
        options.remarks.push_back(printable(own_[at - 1]) + " lacks its value, and is left out");
        return ok;
    }
    taken_ = optind - 1;
    return read_word(options, word, value);
}

Status OptionLine::read(SrunOptions& options, bool skips) {
    std::vector<option> longs;
    for (const auto& word : words_) {
        longs.push_back({.name = word.name,
                         .has_arg = static_cast<int>(word.takes),
                         .flag = nullptr,
                         .val = first_long + static_cast<int>(longs.size())});
    }
    longs.push_back({});
    std::vector<char*> argv;
    for (auto& word : own_) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const auto shorts = letters(words_);
    optind = 0; // from the beginning: glibc
    opterr = 0;
    for (int found = 0; (found = ::getopt_long(static_cast<int>(own_.size()), argv.data(), shorts.c_str(),
                                               longs.data(), nullptr)) != -1;) {
        end_ = optind;
        const auto& typed = own_.at(static_cast<std::size_t>(std::max(optind - 1, 1)));
        if (found == ':') {
            return lacks_value(typed);
        }
        if (found == '?') {
            end_ = std::max(optind - 1, 1);
            auto error = no_option("unrecognized option '" +
                                   printable(optopt > 0 && optopt < first_long
                                                 ? "-" + std::string(1, static_cast<char>(optopt))
                                                 : typed) +
                                   "'");
            if (!skips) {
                return error;
            }
            options.remarks.push_back(error.message + ", which is left out");
            continue;
        }
        TRY(judge(options, word_of(words_, found), optarg));
        end_ = optind;
    }
    end_ = optind;
    return ok;
}

bool OptionLine::give_back_command(SrunOptions& options, const Environment& environment) {
    const bool follows = static_cast<std::size_t>(end_) < own_.size();
    if (taken_ < 2 || taken_ != end_ - 1 ||
        !is_program_here(own_[static_cast<std::size_t>(taken_)], environment) ||
        (follows && (own_[static_cast<std::size_t>(end_)].find('/') != std::string::npos ||
                     is_program_here(own_[static_cast<std::size_t>(end_)], environment)))) {
        return false;
    }
    auto command = std::vector<std::string>(own_.begin() + taken_, own_.end());
    const auto option = own_[static_cast<std::size_t>(taken_ - 1)];
    own_.resize(static_cast<std::size_t>(taken_ - 1));
    SrunOptions again;
    if (!read_variables(again, environment) || !read(again)) {
        return false;
    }
    options = std::move(again);
    options.command = std::move(command);
    options.remarks.push_back(printable(option) + " lacks its value (an empty variable?), and is left out: " +
                              printable(options.command.front()) + " is the command");
    return true;
}

} // namespace

Result<SrunOptions> parse_srun(const std::vector<std::string>& arguments, const Environment& environment) {
    SrunOptions options;
    TRY(read_variables(options, environment));
    OptionLine line(srun_words(), arguments);
    const auto done = line.read(options);
    if (!done && done.error().kind != ErrorKind::usage) {
        return done.error();
    }
    options.command = line.rest();
    if (options.what != SrunOptions::What::run) {
        return options;
    }
    const bool runs = done && !options.command.empty();
    if ((runs && is_program_here(options.command.front(), environment)) ||
        !line.give_back_command(options, environment)) {
        TRY(done);
        if (!runs) {
            return wrong_word("No command given to execute.");
        }
    }
    return options;
}

Result<SrunOptions> parse_sbatch(const std::vector<std::string>& arguments,
                                 const std::vector<BatchLine>& lines) {
    SrunOptions options;
    for (const auto& [number, words] : lines) {
        const auto where = "line " + std::to_string(number) + ": ";
        OptionLine line(sbatch_words(), words);
        if (auto done = line.read(options, true); !done) {
            return wrong_word(where + done.error().message);
        } else if (!line.rest().empty()) {
            return wrong_word(where +
                              "Invalid directive found in batch script: " + printable(line.rest().front()));
        }
    }
    OptionLine line(sbatch_words(), arguments);
    TRY(line.read(options));
    options.command = line.rest();
    return options;
}

std::optional<std::string> srun_answer(const SrunOptions& options, const std::string& program) {
    switch (options.what) {
    case SrunOptions::What::run:
        return std::nullopt;
    case SrunOptions::What::version:
        return "slurm 22.05 (dockdist's " + program + ", there is no Slurm here)\n";
    case SrunOptions::What::help:
        break;
    }
    return R"(srun: runs a command as tasks on the nodes of this dockdist cluster, as Slurm's srun does
  srun [-N NODES] [-n TASKS] [--ntasks-per-node=K] [-w NODE,...] [-x NODE,...] [--gres=gpu:K | --gpus* ...] COMMAND...
Without -N and -n one task on each node. Slots are a node's CPUs; -O starts more tasks than there are.
  --label, -u          tasks' numbers before their lines; lines as they come
  -o, -e FILE          %t task, %N node, %n node's number, %j job, %% percent; written where srun runs
  -i FILE|TASK|none    what all tasks read as stdin; srun's own for that task alone; nothing
  -K[0|1], -W SECONDS  ends the others when a task fails; when one has ended
  --export=ALL|NONE|NAME[=VALUE],...   --chdir=FOLDER   -J NAME   -r, -O, -Q
What Slurm alone decides (-p, -t, --mem, --cpu-bind, ...) is read and has no effect here.
)";
}

} // namespace dockdist::node
