#include "shared/core/new_file.hpp"

#include "shared/core/random.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

std::string name_beside(std::string_view prefix) {
    constexpr std::size_t digits = 16;
    const int why = errno; // of what failed before
    auto name = std::string(prefix) + random_hex(digits);
    errno = why;
    return name;
}

} // namespace

bool write_whole(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = ::write(file, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

NewFile::NewFile(const std::string& path) {
    const auto slash = path.rfind('/');
    const auto folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    *this = NewFile(Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                    slash == std::string::npos ? path : path.substr(slash + 1));
}

NewFile::NewFile(Fd folder, std::string name, std::string_view prefix)
    : folder_(std::move(folder)), name_(std::move(name)), temporary_(name_beside(prefix)) {
    if (folder_.open()) { // else errno says why it is not
        file_ = Fd(::openat(folder_.get(), temporary_.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    }
}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
    if (this != &other) {
        give_up();
        folder_ = std::move(other.folder_);
        file_ = std::move(other.file_);
        name_ = std::move(other.name_);
        temporary_ = std::move(other.temporary_);
    }
    return *this;
}

bool NewFile::take_name(bool on_disk) {
    const bool there = !on_disk || syncing()(file_.get()) == 0;
    // NFS tells of a full disk when a file is closed.
    if (::close(file_.release()) == 0 && there &&
        ::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) == 0) {
        return !on_disk || sync_folder(folder_.get());
    }
    const int why = errno;
    ::unlinkat(folder_.get(), temporary_.c_str(), 0);
    errno = why;
    return false;
}

void NewFile::give_up() {
    if (file_.open()) {
        const int why = errno;
        file_.reset();
        ::unlinkat(folder_.get(), temporary_.c_str(), 0);
        errno = why;
    }
}

bool replace_whole_file(const std::string& path, std::string_view text, const NewFileRights& rights) {
    NewFile file(path);
    // The owner before the mode: a change of owner may clear bits of it.
    return file.open() && write_whole(file.get(), text) &&
           (!rights.owner || ::fchown(file.get(), *rights.owner, rights.group) == 0) &&
           ::fchmod(file.get(), rights.mode) == 0 && file.take_name(rights.on_disk);
}

Syncing& syncing() {
    static Syncing way = ::fsync;
    return way;
}

bool sync_folder(int folder) {
    const Fd opened(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool failed = opened.open() && syncing()(opened.get()) != 0;
    return !failed || (errno != EIO && errno != ENOSPC && errno != EDQUOT);
}

bool replace_link(int folder, const std::string& name, const std::string& target, std::string_view prefix) {
    const auto temporary = name_beside(prefix);
    if (::symlinkat(target.c_str(), folder, temporary.c_str()) != 0) {
        return false;
    }
    if (::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) {
        return true;
    }
    const int why = errno;
    ::unlinkat(folder, temporary.c_str(), 0);
    errno = why;
    return false;
}

} // namespace dockdist
