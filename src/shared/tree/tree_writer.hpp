// Changing a tree, from words that come from elsewhere. Never through a link, never half a file: content
// goes to a file of another name in the same folder, which then takes the name.
#pragma once

#include "shared/core/new_file.hpp"
#include "shared/tree/folder.hpp"
#include "shared/wire/tree.hpp"

#include <ctime>
#include <string>
#include <string_view>

namespace dockdist {

timespec to_timespec(std::int64_t time_ns); // since 1970

class TreeWriter {
public:
    TreeWriter() = default;
    explicit TreeWriter(Folder tree) : tree_(std::move(tree)) {}

    Folder& tree() { return tree_; }

    // Whether it was not there before: a folder that is there already keeps its mode. The mode has rwx for
    // the owner added, so that it can be written into; set_mode has the last word.
    Result<bool> make_folder(const std::string& name, std::uint32_t mode);
    Status link(const std::string& name,
                const std::string& target); // takes the place of what is not a folder
    Status remove(const std::string& name); // a folder only when it is empty
    Status set_mode(const std::string& name, std::uint32_t mode);
    Status set_time(const std::string& name, std::int64_t time_ns); // of a file

    // One file at a time. After an error the file is given up, and the rest of it is dropped.
    Status begin_file(const wire::TreeEntry& entry);
    Status write(std::string_view bytes);
    Status end_file(bool whole);

    // What failed last is of no use to try again with another file: no space, no disk.
    bool is_full() const { return full_; }

private:
    Error failed(const std::string& name, int number);

    Folder tree_{};
    bool full_ = false;

    wire::TreeEntry entry_{}; // of the file that is being written
    NewFile file_{};
};

} // namespace dockdist
