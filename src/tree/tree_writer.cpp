#include "tree/tree_writer.hpp"

#include "core/text.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>

namespace dockdist {
timespec to_timespec(std::int64_t time_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    auto seconds = time_ns / second;
    auto rest = time_ns % second;
    if (rest < 0) { // before 1970
        rest += second;
        --seconds;
    }
    return {.tv_sec = seconds, .tv_nsec = rest};
}

Error TreeWriter::failed(const std::string& name, int number) {
    full_ = full_ || number == ENOSPC || number == EDQUOT || number == EROFS || number == EIO;
    return tree_error(printable(name), number);
}

std::string TreeWriter::temporary_name() {
    return std::string(wire::temporary_prefix) + std::to_string(::getpid()) + "-" + std::to_string(++count_);
}

Result<bool> TreeWriter::make_folder(const std::string& name, std::uint32_t mode) {
    const auto place = tree_.place(name);
    if (place.folder < 0) {
        return failed(name, errno);
    }
    if (::mkdirat(place.folder, place.name.c_str(), 0700) != 0) {
        struct stat status{};
        if (errno == EEXIST &&
            ::fstatat(place.folder, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            return S_ISDIR(status.st_mode) ? Result<bool>(false) : failed(name, ENOTDIR);
        }
        return failed(name, errno);
    }
    const int made = tree_.below(name);
    if (made < 0 || ::fchmod(made, (mode & 0777U) | 0700U) != 0) {
        return failed(name, errno);
    }
    return true;
}

Status TreeWriter::link(const std::string& name, const std::string& target) {
    if (!wire::stays_in_tree(name, target)) {
        return Error{.kind = ErrorKind::node,
                     .message = printable(name) + ": a link to " + printable(target) +
                                ", which leads out of the folder, is refused"};
    }
    const auto place = tree_.place(name);
    const auto temporary = temporary_name();
    if (place.folder < 0 || ::symlinkat(target.c_str(), place.folder, temporary.c_str()) != 0) {
        return failed(name, errno);
    }
    if (::renameat(place.folder, temporary.c_str(), place.folder, place.name.c_str()) != 0) {
        auto error = failed(name, errno);
        ::unlinkat(place.folder, temporary.c_str(), 0);
        return error;
    }
    return ok;
}

Status TreeWriter::remove(const std::string& name) {
    const auto place = tree_.place(name);
    if (place.folder < 0) {
        return errno == ENOENT ? Status(ok) : failed(name, errno);
    }
    if (::unlinkat(place.folder, place.name.c_str(), 0) == 0) {
        return ok;
    }
    if (errno == EISDIR || errno == EPERM) { // Linux says EISDIR, others EPERM
        tree_.forget();
        const auto again = tree_.place(name);
        if (again.folder >= 0 && ::unlinkat(again.folder, again.name.c_str(), AT_REMOVEDIR) == 0) {
            return ok;
        }
    }
    return errno == ENOENT ? Status(ok) : failed(name, errno);
}

Status TreeWriter::set_mode(const std::string& name, std::uint32_t mode) {
    const auto place = tree_.place(name);
    // There is no chmod that does not follow links on older kernels; an open file is none.
    const Fd file(
        place.folder < 0 ? -1 : ::openat(place.folder, place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!file.open() || ::fstat(file.get(), &status) != 0) {
        return failed(name, errno);
    }
    if (S_ISLNK(status.st_mode)) {
        return failed(name, ELOOP);
    }
    const auto path = "/proc/self/fd/" + std::to_string(file.get());
    return ::chmod(path.c_str(), mode & 0777U) == 0 ? Status(ok) : failed(name, errno);
}

Status TreeWriter::set_time(const std::string& name, std::int64_t time_ns) {
    const auto place = tree_.place(name);
    const timespec times[2]{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, to_timespec(time_ns)};
    if (place.folder < 0 || ::utimensat(place.folder, place.name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
        return failed(name, errno);
    }
    return ok;
}

Status TreeWriter::begin_file(const wire::TreeEntry& entry) {
    give_up_file();
    const auto place = tree_.place(entry.name);
    if (place.folder < 0) {
        return failed(entry.name, errno);
    }
    folder_ = Fd(::fcntl(place.folder, F_DUPFD_CLOEXEC, 0)); // tree_ may close its own
    temporary_ = temporary_name();
    file_ = Fd(::openat(folder_.get(), temporary_.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file_.open() && errno == EEXIST) { // of a process of this number that was killed
        ::unlinkat(folder_.get(), temporary_.c_str(), 0);
        file_ = Fd(::openat(folder_.get(), temporary_.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    }
    if (!file_.open()) {
        return failed(entry.name, errno);
    }
    entry_ = entry;
    last_ = place.name;
    return ok;
}

Status TreeWriter::write(std::string_view bytes) {
    while (file_.open() && !bytes.empty()) {
        const auto count = ::write(file_.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            auto error = failed(entry_.name, errno);
            give_up_file();
            return error;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return ok;
}

Status TreeWriter::end_file(bool whole) {
    if (!file_.open() || !whole) {
        give_up_file();
        return ok;
    }
    const timespec times[2]{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, to_timespec(entry_.time_ns)};
    if (::fchmod(file_.get(), entry_.mode & 0777U) != 0 || ::futimens(file_.get(), times) != 0 ||
        ::close(file_.release()) != 0 || // NFS tells of a full disk here
        ::renameat(folder_.get(), temporary_.c_str(), folder_.get(), last_.c_str()) != 0) {
        auto error = failed(entry_.name, errno);
        ::unlinkat(folder_.get(), temporary_.c_str(), 0);
        return error;
    }
    return ok;
}

TreeWriter& TreeWriter::operator=(TreeWriter&& other) noexcept {
    if (this != &other) {
        give_up_file();
        tree_ = std::move(other.tree_);
        full_ = other.full_;
        count_ = other.count_;
        entry_ = std::move(other.entry_);
        file_ = std::move(other.file_);
        folder_ = std::move(other.folder_);
        temporary_ = std::move(other.temporary_);
        last_ = std::move(other.last_);
    }
    return *this;
}

void TreeWriter::give_up_file() {
    if (file_.open()) {
        file_.reset();
        ::unlinkat(folder_.get(), temporary_.c_str(), 0);
    }
}

} // namespace dockdist
