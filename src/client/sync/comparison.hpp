// The tree that is to be on a node, against what stands there: pure. The node's entries come one by one and
// are not kept, so that a node costs a byte an entry.
#pragma once

#include "client/sync/local_tree.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct CompareOptions {
    bool remove = false;     // what is on the node alone, and is not ignored, goes
    bool everything = false; // files count as changed whatever the node has
};

struct SyncAction {
    enum class Kind { remove, make_folder, link, send, set_mode, set_time };
    Kind kind = Kind::send;
    std::uint32_t entry = 0; // of the tree; not of remove
    std::string name{};      // of remove
    bool operator==(const SyncAction&) const = default;
};

struct SyncPlan {
    std::vector<SyncAction> actions{}; // in the order in which they work
    std::uint64_t files = 0, bytes = 0;
    std::uint64_t removed = 0;
    std::uint64_t others = 0;                                    // folders, links, modes
    bool empty() const { return files + removed + others == 0; } // times alone are nobody's news
};

class Comparison {
public:
    // The tree outlives it.
    Comparison(const LocalTree& tree, CompareOptions options);

    // The folders whose content the node has to tell, that were not asked for yet: first those of the tree,
    // later those that stand on the node alone and are to be removed.
    std::vector<std::string> folders_to_list();
    void node_has(const wire::TreeEntry& there);
    // Files of the same size and another time, once all is listed; their content decides.
    std::vector<std::uint32_t> doubts() const;
    void same_content(std::uint32_t entry) { states_[entry] |= only_time; }

    SyncPlan plan() const;

private:
    static constexpr std::uint8_t there = 1;       // something of the right type
    static constexpr std::uint8_t content = 2;     // is other
    static constexpr std::uint8_t doubtful = 4;    // may be other
    static constexpr std::uint8_t only_time = 8;   // it was not
    static constexpr std::uint8_t mode = 16;       // is other
    static constexpr std::uint8_t in_the_way = 32; // a folder instead of a file, or the other way round

    struct Extra {
        std::string name{};
        bool folder = false;
    };

    void plan_entry(std::uint32_t i, SyncPlan& plan) const;
    void keep_folders_of(std::string_view name);

    const LocalTree& tree_;
    CompareOptions options_;
    std::vector<std::uint8_t> states_;
    bool asked_for_tree_ = false;
    std::vector<std::string> to_list_{};
    std::vector<Extra> extras_{};
    std::set<std::string, std::less<>> kept_{}; // folders of the node that hold ignored files
};

} // namespace dockdist
