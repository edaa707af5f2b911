#include "client/check/mount_rows.hpp"

#include "client/check/compare.hpp"
#include "shared/core/path.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace dockdist {
namespace {

using State = CheckRow::State;
using Names = std::vector<std::string>;

// What a host has for itself, whatever it is mounted for.
constexpr std::string_view system_folders[] = {"/dev",     "/proc", "/sys", "/run",
                                               "/var/run", "/etc",  "/tmp", "/lib/modules"};
// A part of a path that says that each host has its own.
constexpr std::string_view local_words[] = {"tmp", "scratch", "local", "nvme", "ssd", "cache"};

bool is_local_by_name(const std::string& folder) {
    const auto parts = split(folder, '/');
    return std::ranges::any_of(parts, [](const std::string& part) {
        return std::ranges::find(local_words, std::string_view(part)) != std::end(local_words);
    });
}

CheckRow row_of(State state, std::string subject, std::string text, std::string hint = "") {
    return {.state = state,
            .layer = CheckLayer::container,
            .subject = std::move(subject),
            .check = "mounts",
            .text = std::move(text),
            .hint = std::move(hint)};
}

// Nodes that see each other's tokens, in the nodes' order.
std::vector<Names> groups_of(const std::vector<const CheckedNode*>& nodes, const std::string& folder) {
    std::vector<std::size_t> group(nodes.size());
    std::iota(group.begin(), group.end(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto seen = nodes[i]->seen_tokens.find(folder);
        for (std::size_t j = 0; j < nodes.size() && seen != nodes[i]->seen_tokens.end(); ++j) {
            if (std::ranges::find(seen->second, nodes[j]->name.str()) != seen->second.end()) {
                const auto [low, high] = std::minmax(group[i], group[j]);
                std::ranges::replace(group, high, low);
            }
        }
    }
    std::vector<Names> groups;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Names members;
        for (std::size_t j = i; j < nodes.size() && group[i] == i; ++j) {
            if (group[j] == i) {
                members.push_back(nodes[j]->name.str());
            }
        }
        if (!members.empty()) {
            groups.push_back(std::move(members));
        }
    }
    return groups;
}

std::string describe(const std::vector<Names>& groups) {
    std::string text;
    Names alone;
    for (const auto& group : groups) {
        if (group.size() == 1) {
            alone.push_back(group.front());
        } else {
            text += (text.empty() ? "" : "; ") + list_names(group) + " share one";
        }
    }
    if (!alone.empty()) {
        text += (text.empty() ? "" : "; ") + list_names(alone) +
                (alone.size() == 1 ? " has its own" : " have one each");
    }
    return text;
}

// "server:/export /folder", "//server/share /": the same words from two hosts mean the same storage, as those
// of a disk, or of a server that each host has for itself, do not.
bool is_of_a_server(const std::string& source) {
    constexpr std::string_view own[] = {"localhost", "127.", "[::1]", "::1"};
    const auto share = source.starts_with("//");
    const auto server = std::string_view(source).substr(share ? 2 : 0);
    return (share || source.find(":/") != std::string::npos) &&
           std::ranges::none_of(own, [&](std::string_view name) { return server.starts_with(name); });
}

struct Judged {
    std::string shared{}, local{}, alike{}; // the folder, when it is well
    std::vector<CheckRow> rows{};
};

class Judge {
public:
    Judge(const std::vector<CheckedNode>& nodes, const std::string& folder)
        : folder_(folder), name_(printable(folder)) {
        for (const auto& node : nodes) {
            sort(node);
        }
    }

    Judged run() {
        if (!without_.empty() && with_.size() + hanging_.size() > 0) {
            add(State::warn, list_names(without_), name_ + " is not a folder here",
                "mount the same storage on every host, then `dockdist down` and `dockdist up`");
        }
        if (with_.size() > 1) {
            compare();
        }
        return std::move(judged_);
    }

private:
    void sort(const CheckedNode& node) {
        const auto mount = node.facts.mounts.find(folder_);
        if (mount == node.facts.mounts.end()) {
            return;
        }
        if (!mount->second) {
            hanging_.push_back(node.name.str());
            add(State::fail, node.name.str(),
                name_ + " does not answer: " + printable(mount->second.error().message),
                "is the file server reachable from that host? `df " + name_ + "` there hangs as well");
        } else if (!mount->second->folder) {
            without_.push_back(node.name.str());
        } else {
            with_.push_back(&node);
            written_ = written_ || mount->second->written;
        }
    }

    const wire::MountFacts& facts(const CheckedNode& node) const { return *node.facts.mounts.at(folder_); }

    void compare() {
        if (!written_) {
            compare_listings();
            return;
        }
        for (const auto* node : with_) {
            if (!facts(*node).written) {
                add(State::warn, node->name.str(),
                    name_ + " cannot be written: " + printable(facts(*node).why),
                    "let `container.user` write there on every host");
            }
        }
        const auto groups = groups_of(with_, folder_);
        if (groups.size() == 1) {
            judged_.shared = name_;
        } else if (groups.size() == with_.size() && is_local_by_name(folder_)) {
            judged_.local = name_;
        } else {
            add(State::warn, "all nodes",
                fmt::format("{} is not the same storage: {}", name_, describe(groups)),
                "what one node writes there (checkpoints, downloads) the others do not see: mount one file "
                "server's folder on every host, or make sure that the copies are the same");
        }
    }

    void compare_listings() {
        std::vector<std::pair<std::string, std::string>> values;
        std::ranges::transform(with_, std::back_inserter(values), [&](const CheckedNode* node) {
            return std::pair(node->name.str(), facts(*node).listing);
        });
        const auto odd = find_odd(values);
        if (odd.others.empty()) {
            const auto& source = facts(*with_.front()).source;
            const bool one =
                is_of_a_server(source) && std::ranges::all_of(with_, [&](const CheckedNode* node) {
                    return facts(*node).source == source;
                });
            (one ? judged_.shared : judged_.alike) = name_;
        }
        for (const auto& [listing, who] : odd.others) {
            add(State::warn, list_names(who),
                fmt::format("{} holds other names than on {}", name_, list_names(odd.with_common)),
                "bring the copies to the same state, or mount one file server's folder on every host");
        }
    }

    void add(State state, std::string subject, std::string text, std::string hint) {
        judged_.rows.push_back(row_of(state, std::move(subject), std::move(text), std::move(hint)));
    }

    const std::string& folder_;
    std::string name_;
    Names without_{}, hanging_{};
    std::vector<const CheckedNode*> with_{};
    bool written_ = false;
    Judged judged_{};
};

} // namespace

std::vector<std::string> mounts_to_compare(const ClusterSpec& spec, const std::vector<std::size_t>& hosts) {
    std::vector<std::string> folders;
    if (std::set(hosts.begin(), hosts.end()).size() < 2) {
        return folders;
    }
    for (const auto& mount : spec.container.mounts) {
        const bool of_the_system = std::ranges::any_of(system_folders, [&](std::string_view folder) {
            return is_in_folder(mount.source, folder) || is_in_folder(mount.target, folder);
        });
        if (mount.source.starts_with('/') && mount.target.starts_with('/') && !of_the_system) {
            folders.push_back(mount.target);
        }
    }
    return folders;
}

std::vector<CheckRow> judge_mounts(const std::vector<CheckedNode>& nodes,
                                   const std::vector<std::string>& folders) {
    std::vector<CheckRow> rows;
    std::string shared;
    std::string local;
    std::string alike;
    const auto add = [](std::string& list, const std::string& word) {
        list += (list.empty() || word.empty() ? "" : ", ") + word;
    };
    for (const auto& folder : folders) {
        auto judged = Judge(nodes, folder).run();
        add(shared, judged.shared);
        add(local, judged.local);
        add(alike, judged.alike);
        std::ranges::move(judged.rows, std::back_inserter(rows));
    }
    if (!alike.empty()) {
        rows.insert(rows.begin(),
                    row_of(State::pass, "all nodes",
                           alike + ": the same names on each host; whether it is one storage is "
                                   "not known, as no node can write there"));
    }
    if (!local.empty()) {
        rows.insert(rows.begin(),
                    row_of(State::pass, "all nodes", local + ": each host has its own, as the name says"));
    }
    if (!shared.empty()) {
        rows.insert(rows.begin(), row_of(State::pass, "all nodes", shared + ": the same storage"));
    }
    return rows;
}

} // namespace dockdist
