#include "node/system/os.hpp"

#include "shared/core/new_file.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::int64_t clock_ms(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Sorted, without . and .., so many at most.
std::vector<std::string> names_in(Fd folder_fd, std::size_t most = std::numeric_limits<std::size_t>::max()) {
    std::vector<std::string> names;
    DIR* folder = folder_fd.open() ? ::fdopendir(folder_fd.get()) : nullptr;
    if (folder == nullptr) {
        return names;
    }
    (void)folder_fd.release(); // closedir closes it
    for (const dirent* entry = nullptr; names.size() < most && (entry = ::readdir(folder)) != nullptr;) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") {
            names.push_back(name);
        }
    }
    ::closedir(folder);
    std::ranges::sort(names);
    return names;
}

// Goes down by descriptors: whoever may write in the tree cannot turn a folder into a link to elsewhere while
// it is removed. What stands deeper than there may be descriptors and stack for is moved up first.
class Removal {
public:
    Removal(int top, std::size_t most) : top_(top), left_(most) {}

    // True when it is empty.
    bool clear(int folder, int depth = 1) {
        constexpr std::size_t names_at_a_time = 1024;
        for (bool any = true; any;) {
            const auto names =
                names_in(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), names_at_a_time);
            if (names.empty()) {
                return true;
            }
            any = false;
            for (const auto& name : names) {
                any = (left_ > 0 && remove(folder, name, depth)) || any;
            }
        }
        return false;
    }

private:
    bool remove(int parent, const std::string& name, int depth) {
        constexpr int deepest = 64;
        --left_;
        if (::unlinkat(parent, name.c_str(), 0) == 0 || ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) {
            return true;
        }
        const Fd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder.open()) {
            return false;
        }
        if (depth == deepest) {
            const auto above = ".dockdist-deep-" + std::to_string(++moved_);
            return ::renameat(parent, name.c_str(), top_, above.c_str()) == 0;
        }
        return clear(folder.get(), depth + 1) && ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
    }

    int top_;
    std::size_t left_;
    int moved_ = 0;
};

} // namespace

Error system_error(const std::string& what, int number) {
    Error error{.kind = ErrorKind::node, .message = what + ": " + std::strerror(number)};
    if (number == ENOSPC || number == EDQUOT) {
        error.hint = "free space on this host, where its engine keeps containers and volumes";
    } else if (number == EROFS) {
        error.hint = "the container's root file system must be writable";
    }
    return error;
}

Result<Fd> open_regular(const std::string& path, int flags) {
    Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags));
    struct stat status{};
    if (!file.open() || ::fstat(file.get(), &status) != 0) {
        const int why = errno;
        auto error = system_error("cannot read " + path, why);
        error.kind = why == ENOENT ? ErrorKind::not_found : error.kind;
        return error;
    }
    if (S_ISDIR(status.st_mode)) {
        return system_error("cannot read " + path, EISDIR);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{.kind = ErrorKind::node,
                     .message = "cannot read " + path + ": it is not a regular file"};
    }
    return file;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    const auto opened = open_regular(path);
    TRY(opened);
    const auto& file = *opened;
    std::string content;
    std::size_t size = 0;
    while (size < limit) {
        content.resize(std::min(limit, size + std::max<std::size_t>(4096, size)));
        const auto count = ::read(file.get(), content.data() + size, content.size() - size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return system_error("cannot read " + path, errno);
        }
        if (count == 0) {
            break;
        }
        size += static_cast<std::size_t>(count);
    }
    content.resize(size);
    return content;
}

std::string read_file_or_empty(const std::string& path) {
    auto content = read_file(path);
    return content ? std::move(*content) : std::string();
}

Status write_all(int fd, std::string_view bytes) {
    return write_whole(fd, bytes) ? Status(ok) : system_error("cannot write", errno);
}

Status replace_file(const std::string& path, std::string_view content, mode_t mode, Owner owner,
                    OnDisk on_disk) {
    return replace_whole_file(
               path, content,
               {.mode = mode, .owner = owner.uid, .group = owner.gid, .on_disk = on_disk == OnDisk::at_once})
               ? Status(ok)
               : system_error("cannot write " + path, errno);
}

Status sync_folder_at(const std::string& path) {
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return folder.open() && sync_folder(folder.get()) ? Status(ok)
                                                      : system_error("cannot sync " + path, errno);
}

Status write_in_place(const std::string& path, std::string_view content) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.open()) {
        return system_error("cannot write " + path, errno);
    }
    return write_whole(file.get(), content) &&
                   ::ftruncate(file.get(), static_cast<off_t>(content.size())) == 0
               ? Status(ok)
               : system_error("cannot write " + path, errno);
}

Status make_folder(const std::string& path, mode_t mode, Owner owner) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return system_error("cannot make " + path, errno);
    }
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.open()) {
        return Error{.kind = ErrorKind::node,
                     .message = path + " is not a folder: " + std::strerror(errno),
                     .hint = "dockdist does not follow links there; remove it from the image or the mounts"};
    }
    struct stat status{};
    if (::fstat(folder.get(), &status) != 0) {
        return system_error("cannot look at " + path, errno);
    }
    if (status.st_uid != owner.uid && status.st_uid != ::geteuid()) {
        return Error{.kind = ErrorKind::node,
                     .message = path + " belongs to user " + std::to_string(status.st_uid) + ", not to " +
                                std::to_string(owner.uid),
                     .hint = "somebody else created it; remove it from the image or the mounts"};
    }
    if (::fchown(folder.get(), owner.uid, owner.gid) != 0 || ::fchmod(folder.get(), mode) != 0) {
        return system_error("cannot own " + path, errno);
    }
    return ok;
}

Status make_folders(const std::string& path, mode_t mode, Owner owner) {
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        const auto parent = path.substr(0, slash);
        if (::mkdir(parent.c_str(), 0700) == 0) {
            if (::chmod(parent.c_str(), 0755) != 0) {
                return system_error("cannot make " + parent, errno);
            }
        } else if (errno != EEXIST) {
            return system_error("cannot make " + parent, errno);
        }
    }
    return make_folder(path, mode, owner);
}

bool remove_tree(const std::string& path, std::size_t most) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) {
        return true;
    }
    const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return top.open() && Removal(top.get(), most).clear(top.get()) && ::rmdir(path.c_str()) == 0;
}

std::vector<std::string> list_folder(const std::string& path) {
    return list_folder(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
}

std::vector<std::string> list_folder(Fd folder) {
    return names_in(std::move(folder));
}

bool is_executable(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111U) != 0 &&
           ::access(path.c_str(), X_OK) == 0;
}

bool is_folder(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

MountedPart mounted_part(std::string_view mountinfo, std::string_view path) {
    MountedPart part;
    for (const auto& line : split(mountinfo, '\n')) {
        // 36 35 98:0 /root-of-mount /mount/point options … - type source options
        constexpr std::size_t root = 3;
        constexpr std::size_t point = 4;
        const auto fields = split(line, ' ');
        if (fields.size() <= point || fields[point] != path) {
            continue;
        }
        part = {.root = fields[root]}; // the last one mounted there is the one that is seen
        const auto dash = std::find(fields.begin() + point, fields.end(), "-");
        if (fields.end() - dash > 2) {
            part.source = *(dash + 2);
        }
    }
    return part;
}

MountedPart mounted_at(std::string_view path) {
    return mounted_part(read_file_or_empty("/proc/self/mountinfo"), path);
}

std::string read_link(const std::string& path) {
    std::string target(4096, '\0');
    const auto length = ::readlink(path.c_str(), target.data(), target.size());
    target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return target;
}

std::string current_folder() {
    std::string path(4096, '\0');
    return ::getcwd(path.data(), path.size()) != nullptr ? path.substr(0, path.find('\0')) : "/";
}

std::int64_t monotonic_ms() {
    return clock_ms(CLOCK_MONOTONIC);
}

std::int64_t monotonic_us() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

std::int64_t unix_ms() {
    return clock_ms(CLOCK_REALTIME);
}

void set_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) {
        ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
}

Fd reopen(int fd, int flags) {
    const auto path = "/proc/self/fd/" + std::to_string(fd);
    return Fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
}

Result<Pipe> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return system_error("cannot make a pipe", errno);
    }
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

} // namespace dockdist::node
