// The order in which a fetched tree has to come (see shared/wire/tree.hpp), so that no name comes twice: a
// second entry of a name could be a folder's where the first was a link's.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class ReceivedNames {
public:
    // More names than `most` are no tree that anybody wants, and each costs a file here.
    explicit ReceivedNames(std::uint64_t most = 20'000'000) : left_(most) {}

    // A file or link. The name must follow all that came before.
    Status take(std::string_view name);
    // The same for a folder.
    Status take_folder(std::string_view name);
    // The last one did not stand here before: its mode is for the node to set.
    void made_folder() { open_.back().made = true; }
    // The end of a folder that has come, and of those in it; whether made_folder() was said of it.
    Result<bool> end_folder(std::string_view name);

private:
    struct OpenFolder {
        std::string name{};
        bool made = false;
    };
    std::uint64_t left_;
    std::string last_{};
    std::vector<OpenFolder> open_{}; // each in the one before
};

} // namespace dockdist
