// The sections of a node's script (node_script.hpp), from what a launcher says of each node.
#pragma once

#include "client/export/marked_words.hpp"
#include "client/export/node_script.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class ScriptWriter {
public:
    ScriptWriter(const ExportJob& job, const ScriptWords& words, const Markers& markers,
                 const std::vector<NodeLaunch>& launches)
        : job_(job), words_(words), markers_(markers), launches_(launches) {
        for (const auto& launch : launches) {
            numbers_.ranks.push_back(launch.ranks);
            numbers_.first_rank.push_back(launch.first_rank);
        }
        uneven_ = std::ranges::any_of(launches,
                                      [&](const auto& launch) { return launch.ranks != launches[0].ranks; });
    }
    Result<NodeScript> write();

private:
    using Text = std::optional<std::string>;
    using BodyOf = std::function<Text(std::size_t first, std::size_t end)>;
    // By groups of nodes that `body` has one text for: one text, or a case of each. What is too long for a
    // word is not written to its end.
    std::string by_groups(const BodyOf& body) const;
    std::size_t end_of_group(std::size_t first, const BodyOf& body) const;

    std::string variable(const WordPart& part);
    Text word(std::size_t first, std::size_t end,
              const std::function<std::string_view(std::size_t node)>& of);
    std::string program(const std::string& word, const std::string& shell);
    std::string user_words(const std::vector<std::string>& words);
    std::string rank_words(const NodeLaunch& launch);

    using Variables = std::map<std::string, std::string>;
    std::string exports(const std::function<const Variables*(std::size_t node)>& of);
    Text files(std::size_t first, std::size_t end);
    Text command(std::size_t first, std::size_t end);
    std::string ranks();
    std::string rank_environments();
    std::string numbers() const;
    std::string header(bool folder) const;
    void look();

    const ExportJob& job_;
    const ScriptWords& words_;
    const Markers& markers_;
    const std::vector<NodeLaunch>& launches_;
    NodeNumbers numbers_{};
    bool uneven_ = false;
    bool spawns_ = false;     // the ranks are ours to start
    bool leads_ = false;      // JobStart::leaves_servers
    bool calls_rank_ = false; // what is started calls `dockdist-init rank` itself
    bool has_folder_ = false;
    // What the words so far have made use of.
    bool uses_python_ = false, uses_own_ = false, uses_ranks_ = false, uses_first_ = false;
    bool uses_addresses_ = false, uses_secret_ = false;
    std::string refusal_{}; // why the launcher cannot be written down
};

} // namespace dockdist
