#include "client/engine/transport/ssh/private_folder.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_prefix = "dockdist-ssh-";
constexpr std::size_t longest_place = 50;             // a socket's path has 107 bytes, and ssh appends to it
constexpr std::string_view special = " \t\"'\\:%$[]"; // to ssh, in a path

// Nobody else renames there what is this user's.
bool is_safe(const fs::path& place) {
    struct stat status{};
    return ::stat(place.c_str(), &status) == 0 && (status.st_uid == ::geteuid() || status.st_uid == 0) &&
           ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0);
}

// Whoever has it open is alive.
Fd open_lock(const fs::path& folder, int flags) {
    Fd lock(::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
    if (lock.open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        lock.reset();
    }
    return lock;
}

void remove_abandoned(const fs::path& place) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(place, failed)) {
        struct stat status{};
        if (entry.path().filename().string().starts_with(folder_prefix) &&
            ::lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
            status.st_uid == ::getuid() && open_lock(entry.path(), 0).open()) {
            fs::remove_all(entry.path(), failed);
        }
    }
}

} // namespace

Result<PrivateFolder> PrivateFolder::make() {
    int why = ENOENT;
    for (const char* place :
         std::to_array<const char*>({std::getenv("XDG_RUNTIME_DIR"), std::getenv("TMPDIR"), "/tmp"})) {
        const std::string_view name(place == nullptr ? "" : place);
        if (!name.starts_with('/') || name.size() > longest_place ||
            name.find_first_of(special) != std::string_view::npos || !is_safe(name)) {
            continue;
        }
        remove_abandoned(place);
        auto path = fmt::format("{}/{}XXXXXX", name, folder_prefix);
        if (::mkdtemp(path.data()) != nullptr) { // 0700
            PrivateFolder folder;
            folder.path_ = path;
            folder.lock_ = open_lock(path, O_CREAT);
            if (folder.lock_.open()) {
                return folder;
            }
        }
        why = errno;
    }
    return Error{ErrorKind::internal, "",
                 std::string("there is no folder for the sockets of ssh: ") + std::strerror(why),
                 "set TMPDIR to a folder of yours with a short name"};
}

PrivateFolder::~PrivateFolder() {
    if (!path_.empty()) {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
}

} // namespace dockdist
