// A folder and what lies below it, reached component by component and never through a link: whoever may
// write in the tree cannot lead a reader or a writer out of it.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// "NAME: No space left on device", with what to do.
Error tree_error(const std::string& what, int number);

class Folder {
public:
    Folder() = default;
    explicit Folder(Fd root) : root_(std::move(root)) {}
    // Follows links in `path` itself.
    static Result<Folder> open(const std::string& path);

    // A Folder whose root is the folder of that name, for a tree of its own below this one.
    Result<Folder> subfolder(std::string_view name);

    bool open() const { return root_.open(); }
    int root() const { return root_.get(); }

    // The folder of that name ("" for the root), or -1 with errno set. Valid until the next call.
    int below(std::string_view name);

    // Where a name stands: its folder, and its last component. folder is -1 with errno set.
    struct Place {
        int folder = -1;
        std::string name{};
    };
    Place place(std::string_view name);

    // Descriptors that are kept for the next call are closed: a folder was removed or replaced.
    void forget() { path_.clear(); }

private:
    struct Step {
        std::string component{};
        Fd fd{};
    };
    Fd root_{};
    std::vector<Step> path_{}; // the folder that was reached last
};

} // namespace dockdist
