#include "client/sync/node_tree.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace dockdist {
namespace {

using wire::TreeEntry;
using Kind = wire::SyncMessage::Kind;

constexpr std::size_t most_node_entries = 20'000'000;
constexpr std::size_t folders_at_once = 1000;

// The entries of folders that were asked for, as they come.
class NodeScan {
public:
    NodeScan(LocalTree& tree, const NodeStream& node) : tree_(tree), node_(node) {}

    std::vector<std::string> next_folders() {
        asked_.clear();
        while (!folders_.empty() && asked_.size() < folders_at_once) {
            asked_.insert(std::move(folders_.back()));
            folders_.pop_back();
        }
        return {asked_.begin(), asked_.end()};
    }

    void take(wire::SyncMessage message) {
        if (message.kind == Kind::problem && !error_) {
            error_ = node_.problem(message);
        }
        if (message.kind != Kind::entry || error_) {
            return;
        }
        auto entry = wire::to_entry(std::move(message));
        const auto slash = entry.name.rfind('/');
        const auto folder = slash == std::string::npos ? std::string() : entry.name.substr(0, slash);
        if (entry.name.empty() || !asked_.contains(folder) || wire::is_temporary(entry.name) ||
            tree_.entries.size() >= most_node_entries) {
            error_ =
                node_.located({.kind = ErrorKind::protocol,
                               .message = "it names what was not asked for, or more than 20 million files"});
            return;
        }
        keep(std::move(entry));
    }

    const std::optional<Error>& error() const { return error_; }

private:
    void keep(TreeEntry entry) {
        if (tree_.rules.ignored_itself(entry.name, entry.type == TreeEntry::Type::folder)) {
            return;
        }
        if (entry.type == TreeEntry::Type::other || entry.type == TreeEntry::Type::none) {
            tree_.left_out.push_back(printable(entry.name) + " is not a file, folder or link");
            return;
        }
        if (entry.type == TreeEntry::Type::link && !wire::stays_in_tree(entry.name, entry.target)) {
            tree_.left_out.push_back(printable(entry.name) + " is a link to " + printable(entry.target) +
                                     ", which leads out of the folder");
            return;
        }
        if (entry.type == TreeEntry::Type::folder) {
            folders_.push_back(entry.name);
        }
        tree_.entries.push_back(std::move(entry));
    }

    LocalTree& tree_;
    const NodeStream& node_;
    std::vector<std::string> folders_{""};
    std::set<std::string> asked_{};
    std::optional<Error> error_{};
};

} // namespace

Task<Result<LocalTree>> scan_node(NodeStream& node, std::string folder, std::vector<std::string> exclude) {
    LocalTree tree;
    for (const auto& pattern : exclude) {
        tree.rules.add(IgnoreRules::Group::exclude, "", pattern);
    }
    NodeScan scan(tree, node);
    std::string messages;
    wire::append(messages, {.kind = Kind::open, .text = folder});
    for (auto folders = scan.next_folders(); !folders.empty(); folders = scan.next_folders()) {
        for (const auto& each : folders) {
            wire::append(messages, {.kind = Kind::list, .name = each});
        }
        const auto asked = co_await node.ask(std::exchange(messages, {}),
                                             [&scan](auto message) { scan.take(std::move(message)); });
        if (!asked || scan.error()) {
            co_return asked ? *scan.error() : asked.error();
        }
    }
    std::ranges::sort(tree.entries, {}, &TreeEntry::name); // a folder before what is in it
    if (std::ranges::adjacent_find(tree.entries, {}, &TreeEntry::name) != tree.entries.end()) {
        co_return node.located({.kind = ErrorKind::protocol, .message = "it names a file twice"});
    }
    tree.make_index();
    co_return tree;
}

} // namespace dockdist
