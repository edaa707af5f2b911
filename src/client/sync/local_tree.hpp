// What there is to send: a folder of this machine, or one file, without what the ignore rules leave out.
#pragma once

#include "client/sync/ignore_rules.hpp"
#include "shared/core/result.hpp"
#include "shared/tree/folder.hpp"
#include "shared/wire/tree.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dockdist {

struct ScanOptions {
    bool ignore_files = true;           // .gitignore and .dockdistignore count, and .git stays behind
    std::vector<std::string> exclude{}; // patterns as in .gitignore, from the tree's own folder on
    std::vector<std::string> always{};  // the same, but a .dockdistignore may keep it
    std::string file_name{};            // what a source that is one file is called on the nodes
};

// What one rule leaves out. Of a folder nobody has looked at what is in it.
struct LeftOutByRule {
    IgnoreRules::Reason reason{}; // with the first one's name
    std::uint64_t files = 0, folders = 0;
};

struct LocalTree {
    std::string path{};                     // the folder that is open, absolute
    std::string single{};                   // one file: its name in there; its entry has the nodes' name
    std::vector<wire::TreeEntry> entries{}; // folders before what is in them
    std::vector<std::string> left_out{}; // "NAME is …": links that lead out, devices, sockets; for warnings
    std::vector<LeftOutByRule> left_out_by_rules{}; // but by those of dockdist's own
    IgnoreRules rules{};
    std::unordered_map<std::string_view, std::uint32_t> index{}; // into entries, whose names it refers to

    LocalTree() = default;
    LocalTree(LocalTree&&) = default;
    LocalTree& operator=(LocalTree&&) = default;
    LocalTree(const LocalTree&) = delete;
    LocalTree& operator=(const LocalTree&) = delete;

    void make_index();
    const std::string& local_name(const wire::TreeEntry& entry) const {
        return single.empty() ? entry.name : single;
    }
};

// A link at the end of `source` is followed; none within the tree is.
Result<LocalTree> scan(const std::string& source, const ScanOptions& options);

// Why a scan would leave out what is here by that name. Nothing: it would not, or there is no such thing.
// Only the rules on its way are read.
std::optional<IgnoreRules::Reason> why_left_out(const std::string& source, const ScanOptions& options,
                                                const std::string& name);

} // namespace dockdist
