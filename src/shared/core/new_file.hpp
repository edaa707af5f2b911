// What takes its name whole or not at all: written beside it, under a name that nobody can guess, and then
// renamed. Whoever opens the name finds the old one or the new one. Whatever stands there and is not a folder
// is replaced: a link is not followed. All of it happens in the folder that was there at the beginning, so it
// may be one that others write to.
#pragma once

#include "shared/core/fd.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace dockdist {

bool write_whole(int file, std::string_view bytes); // false with errno

inline constexpr std::string_view new_file_prefix = ".dockdist-new-";

class NewFile {
public:
    NewFile() = default; // none
    // For the owner alone as long as nobody changes that. open(): else errno says why not.
    explicit NewFile(const std::string& path);
    // `prefix`: of what it is called until then, for who has to tell it from other files.
    NewFile(Fd folder, std::string name, std::string_view prefix = new_file_prefix);
    NewFile(NewFile&& other) noexcept = default;
    NewFile& operator=(NewFile&& other) noexcept;
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() { give_up(); }

    bool open() const { return file_.open(); }
    int get() const { return file_.get(); }
    // Closes it and gives it its name. False with errno: what was there is there still, but where its folder
    // alone could not be synced. `on_disk`: see below.
    bool take_name(bool on_disk = false);
    void give_up(); // keeps errno

private:
    Fd folder_{}, file_{};
    std::string name_{}, temporary_{};
};

struct NewFileRights {
    mode_t mode = 0600;
    std::optional<uid_t> owner{}; // with its group
    gid_t group = 0;
    // It is there, under its name, when this returns, also after a power cut, where the file system tells the
    // truth: the file is synced before it takes the name, and then its folder.
    bool on_disk = false;
};
// False with errno.
bool replace_whole_file(const std::string& path, std::string_view text, const NewFileRights& rights);

// How a file or folder is brought to its disk: ::fsync, or what a test puts in its place.
using Syncing = std::function<int(int)>;
Syncing& syncing();
// A folder and what has its name there. File systems that cannot sync folders need not: false where the disk
// is full or broken.
bool sync_folder(int folder);

// The same for a symbolic link.
bool replace_link(int folder, const std::string& name, const std::string& target,
                  std::string_view prefix = new_file_prefix);

} // namespace dockdist
