// A file that the user has named for what a command writes: `--report page.html`, `--textfile node.prom`.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <string_view>

namespace dockdist {

// Whole at any time (shared/core/new_file.hpp), with the mode of the user's own file that it replaces, else
// as the umask says. A link stays one where it is the user's own or root's, and the file that it leads to is
// replaced; another user's is refused, and so is a file that its user has locked. A device or a pipe, the
// user's own or root's, is written into. Errors: usage.
class OutputFile {
public:
    OutputFile(std::string path, std::string option) : path_(std::move(path)), option_(std::move(option)) {}

    // Before the work, which may take hours: that it can be written, at this moment. Leaves no trace.
    Status check() const;
    Status write(std::string_view text) const;
    void remove() const;

private:
    struct Place;
    Place place() const;
    Error error(int number) const;

    std::string path_, option_;
};

} // namespace dockdist
