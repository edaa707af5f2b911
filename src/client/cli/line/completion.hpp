// What can be completed at the cursor of a command line, from CLI11's own tree; and the scripts by which
// bash, zsh and fish ask for it. Pure: names of the cluster come from whoever asks.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct Candidate {
    std::string word{};
    std::string description{}; // may be empty
};

struct Completion {
    std::vector<Candidate> candidates{};
    enum class Files { none, files, folders };
    Files files = Files::none; // that the shell offers besides
    bool goes_on = false;      // no space behind the word: "node-0:" has a path to come
};

// The values of a kind that are known here; `file`: what -f or FILE names, empty where neither does. A kind
// is the placeholder of an option (placeholder()): "NODE", "LAUNCHER".
using KnownValues = std::function<std::vector<Candidate>(const std::string& kind, const std::string& file)>;

// A path of the line as its shell will make it: with `home` for a leading ~, $HOME or ${HOME}.
std::string with_home(const std::string& path, const std::string& home);

// `line`: up to the cursor, the program's name at its front.
Completion complete_line(const CLI::App& program, std::string_view line, const KnownValues& known);

// A line each: the word and, behind a tab, its description; the last line says `:` with what the shell adds,
// `none`, `files` or `folders`, and ` open` where no space follows. Where a shell completes only what stands
// behind one of `breaks` (bash's COMP_WORDBREAKS), the words begin there.
std::string completion_lines(const Completion& completion, std::string_view line, std::string_view breaks);

// For `source <(dockdist completion bash)`. `shell`: one of completion_shells().
std::string_view completion_script(std::string_view shell);
const std::vector<std::string>& completion_shells();

} // namespace dockdist
