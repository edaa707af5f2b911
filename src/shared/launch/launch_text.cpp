#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"

namespace dockdist {
namespace {

// A word of the user's may have several lines, within its quotes.
std::string shown(const std::string& words) {
    std::string text;
    for (const auto& line : split(words, '\n')) {
        text += (text.empty() ? "" : "\n") + printable(line);
    }
    return text;
}

std::string describe(const NodeLaunch& launch) {
    std::string text = launch.node.str() + ":";
    if (launch.ranks == 1) {
        text += " rank " + std::to_string(launch.first_rank);
    } else if (launch.ranks > 1) {
        text += " ranks " + std::to_string(launch.first_rank) + " to " +
                std::to_string(launch.first_rank + launch.ranks - 1);
    }
    return text + "\n";
}

} // namespace

std::string to_text(const std::vector<NodeLaunch>& launches) {
    std::string text;
    for (const auto& launch : launches) {
        const auto& start = launch.start;
        text += describe(launch);
        for (const auto& [name, value] : start.env) {
            text += "  " + shown(name + "=" + shell_quote(value)) + "\n";
        }
        std::string defaults;
        for (const auto& [name, value] : start.env_defaults) {
            defaults += " " + shown(name + "=" + shell_quote(value));
        }
        text += defaults.empty() ? "" : "  where nothing else sets them:" + defaults + "\n";
        for (std::size_t i = 0; i < start.rank_env.size(); ++i) {
            for (const auto& [name, value] : start.rank_env[i]) {
                text += "  rank " + std::to_string(launch.first_rank + static_cast<int>(i)) + ": " +
                        shown(name + "=" + shell_quote(value)) + "\n";
            }
        }
        for (const auto& [path, content] : start.files) {
            text += "  file " + printable(path) + ":\n";
            for (const auto& line : split(content, '\n')) {
                text += line.empty() ? "" : "    | " + printable(line) + "\n";
            }
        }
        if (!start.argv.empty()) {
            text += "  $ " + shown(shell_join(start.argv)) + "\n";
        }
        if (!start.rank_command.empty()) {
            auto words = start.rank_command;
            const auto own = start.local_rank_option + "=$LOCAL_RANK";
            if (start.local_rank_at >= 0) {
                words.insert(words.begin() + start.local_rank_at, own);
            }
            std::string line;
            for (const auto& word : words) {
                line += (line.empty() ? "" : " ") +
                        (start.local_rank_at >= 0 && word == own ? word : shell_quote(word));
            }
            text += "  each rank $ " + shown(line) + "\n";
        }
    }
    return text;
}

} // namespace dockdist
