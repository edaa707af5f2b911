#include "node/session/pdsh_targets.hpp"

#include "node/session/ssh_target.hpp"
#include "node/system/os.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <string_view>

namespace dockdist::node {
namespace {

constexpr std::string_view valued_options = "wxRMltufgXPjF"; // of pdsh and its usual modules
constexpr std::size_t longest_file = 1U << 20U;

// One target a line, as -w's file and WCOLL's have them. A pipe (`-w ^<(…)`), which is not read here, can be
// read only once, by pdsh.
void add_lines(const std::string& path, std::vector<std::string>& targets) {
    const auto text = read_file(path, longest_file);
    for (const auto& line : split(text ? *text : "", '\n')) {
        const auto word = line.substr(0, line.find_first_of(" \t#"));
        if (!word.empty()) {
            targets.push_back(word);
        }
    }
}

std::vector<std::string> all_targets(const std::vector<std::string>& arguments, const std::string& wcoll) {
    std::vector<std::string> targets;
    for (const auto& target : pdsh_targets(arguments)) {
        if (target.starts_with('^')) {
            add_lines(target.substr(1), targets);
        } else {
            targets.push_back(target);
        }
    }
    if (targets.empty() && !wcoll.empty()) {
        add_lines(wcoll, targets);
    }
    return targets;
}

} // namespace

std::vector<std::string> pdsh_targets(const std::vector<std::string>& arguments) {
    std::vector<std::string> targets;
    for (std::size_t i = 0; i < arguments.size() && arguments[i].starts_with('-') && arguments[i] != "--";
         ++i) {
        const std::string_view word = arguments[i];
        for (std::size_t k = 1; k < word.size(); ++k) {
            if (valued_options.find(word[k]) == std::string_view::npos) {
                continue;
            }
            const bool apart = k + 1 == word.size();
            if ((word[k] == 'w' || word[k] == 'x') && !(apart && i + 1 == arguments.size())) {
                for (auto& target : split_host_list(apart ? arguments[i + 1] : word.substr(k + 1))) {
                    targets.push_back(std::move(target));
                }
            }
            i += apart ? 1 : 0;
            break;
        }
    }
    return targets;
}

std::optional<std::string>
complaint_about_ports(const std::vector<std::string>& arguments, const std::string& wcoll,
                      const std::function<std::string(const std::string& host, int port)>& node_at) {
    std::string first;
    std::string better;
    std::string others;
    for (const auto& target : all_targets(arguments, wcoll)) {
        const auto names = expand_host_list(target);
        for (const auto& name : names ? *names : std::vector{target}) {
            const auto at = name.rfind('@');
            const auto both = read_host_and_port(at == std::string::npos ? name : name.substr(at + 1));
            first = both && first.empty() ? name : first;
            const auto node = both ? node_at(both->host, both->port) : "";
            others = both && node.empty() && others.empty() ? both->host : others;
            better += (better.empty() ? "" : ",") + (!both ? name : node.empty() ? both->host : node);
        }
    }
    if (first.empty()) {
        return std::nullopt;
    }
    return printable(first) + ": pdsh does not support ports; type `-w " + printable(better) +
           "`, and such names in a hostfile: dockdist's ssh knows the nodes' ports" +
           (others.empty() ? "" : " (and `Port` in ~/.ssh/config that of " + printable(others) + ")");
}

} // namespace dockdist::node
