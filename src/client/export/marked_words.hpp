// Words of launchers in which what only the engine knows is marked: launchers are asked with nodes whose
// addresses, ports and job are markers, and what they say is turned into words of a shell.
#pragma once

#include "client/export/node_script.hpp"
#include "shared/core/names.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// A part of a word: text as it is, or a variable of the script.
struct WordPart {
    enum class Kind { text, address, own_address, port, job, secret, folder, node_rank, ranks, first_rank };
    Kind kind = Kind::text;
    std::string text{};        // Kind::text
    std::size_t index = 0;     // of a node (address), of a port
    std::ptrdiff_t offset = 0; // that a number of the nodes is more
    bool operator==(const WordPart&) const = default;
};
using MarkedWord = std::vector<WordPart>;

// Texts that occur nowhere in what the user has written, so that whatever is replaced is ours.
class Markers {
public:
    Markers(const LaunchRequest& request, std::size_t ports);

    // The request's nodes, ports, job and secret as launchers shall see them. `names`: ScriptWords's.
    void put_into(LaunchRequest& request, const std::vector<std::string>& names) const;
    // `own`: the node whose address is told as its own; none: no node's is.
    MarkedWord read(std::string_view word, std::optional<std::size_t> own = std::nullopt) const;
    // Whether a word that is cut behind `before` is cut in the middle of an address.
    bool cuts_address(std::string_view before) const { return before.ends_with(mark_ + "a"); }

private:
    std::string mark_{};
    std::vector<Port> ports_{};
    std::string folder_{}; // the job's folder in a node
};

// What the nodes of a job differ in by number, for unify().
struct NodeNumbers {
    std::vector<int> ranks{};
    std::vector<int> first_rank{};
};

// One word that says the same as `words`, one for each of the nodes from `first` on; none: they differ in
// more than their numbers and addresses.
std::optional<MarkedWord> unify(const Markers& markers, const std::vector<std::string_view>& words,
                                std::size_t first, const NodeNumbers& numbers);

// As words of a shell: what is not text by `variable`, which gives what stands between double quotes.
using VariableText = std::function<std::string(const WordPart& part)>;
std::string to_shell(const MarkedWord& word, const VariableText& variable);
// The same for the lines of a here-document whose delimiter is not quoted.
std::string to_here_document(const MarkedWord& word, const VariableText& variable);
bool is_text(const MarkedWord& word);

} // namespace dockdist
