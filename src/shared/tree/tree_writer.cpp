#include "shared/tree/tree_writer.hpp"

#include "shared/core/text.hpp"

#include <cerrno>
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
    return place.folder >= 0 && replace_link(place.folder, place.name, target, wire::temporary_prefix)
               ? Status(ok)
               : failed(name, errno);
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
    file_.give_up();
    const auto place = tree_.place(entry.name);
    if (place.folder >= 0) { // tree_ may close its own
        file_ = NewFile(Fd(::fcntl(place.folder, F_DUPFD_CLOEXEC, 0)), place.name, wire::temporary_prefix);
    }
    if (!file_.open()) {
        return failed(entry.name, errno);
    }
    entry_ = entry;
    return ok;
}

Status TreeWriter::write(std::string_view bytes) {
    if (file_.open() && !write_whole(file_.get(), bytes)) {
        file_.give_up();
        return failed(entry_.name, errno);
    }
    return ok;
}

Status TreeWriter::end_file(bool whole) {
    if (!file_.open() || !whole) {
        file_.give_up();
        return ok;
    }
    const timespec times[2]{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, to_timespec(entry_.time_ns)};
    const bool named = ::fchmod(file_.get(), entry_.mode & 0777U) == 0 &&
                       ::futimens(file_.get(), times) == 0 && file_.take_name();
    const int why = errno;
    file_.give_up();
    return named ? Status(ok) : failed(entry_.name, why);
}

} // namespace dockdist
