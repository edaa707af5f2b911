#include "node/relay/tree_files.hpp"

#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"
#include "shared/tree/read_tree.hpp"
#include "shared/tree/tree_writer.hpp"
#include "shared/wire/tree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace dockdist::node {
namespace {

Error no_room(std::uint64_t left, std::uint64_t room) {
    const auto mib = [](std::uint64_t bytes) {
        return std::to_string((bytes + (1 << 20) - 1) >> 20U) + " MiB";
    };
    return {ErrorKind::node, "", "still needs " + mib(left) + ", and " + mib(room) + " are free",
            "free space on that host, or choose another `to`"};
}

Error begun_by_another() {
    return {ErrorKind::node, "", "another `data push` is copying it right now",
            "wait until it has ended, and run this again; one whose client is gone ends with its connection"};
}

bool is_as_listed(const wire::RelayFile& listed, int file) {
    const auto entry = entry_of(file, listed.name);
    return entry && entry->size == static_cast<std::uint64_t>(listed.size) &&
           entry->time_ns == listed.time_ns;
}

} // namespace

Error file_given_up() {
    return {ErrorKind::node, "", "changed, or was removed, while it was read",
            "run it again when nothing writes there any more"};
}

std::string begun_name(const wire::RelayFile& file) {
    const auto text = file.name + '\0' + std::to_string(file.size) + '\0' + std::to_string(file.time_ns);
    std::array<unsigned char, 16> hash{};
    ::crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                         text.size(), nullptr, 0);
    return std::string(wire::begun_prefix) +
           to_hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

void TreeFiles::add(wire::RelayFile file) {
    auto id = wire::relay_blob_id(file.number);
    files_.insert_or_assign(std::move(id), std::move(file));
}

Result<TreeFiles::Place> TreeFiles::place(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto found = folder_.place(name);
    Place place{.folder = Fd(found.folder < 0 ? -1 : ::fcntl(found.folder, F_DUPFD_CLOEXEC, 0)),
                .name = std::move(found.name)};
    if (!place.folder.open()) {
        return tree_error(printable(name), errno);
    }
    return place;
}

Fd TreeFiles::reopen(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return open_file(folder_, listed(id).name);
}

// --- where they are to stand ---

Result<BlobFiles::Opened> TargetFiles::open(const std::string& id, bool anew) {
    const auto& wanted = listed(id);
    const auto at = place(wanted.name);
    TRY(at);
    const auto name = begun_name(wanted);
    const auto open_it = [&] {
        return Fd(::openat(at->folder.get(), name.c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    };
    Opened opened{.file = open_it()};
    struct stat status{};
    const auto is_ours = [&] {
        return opened.file.open() && ::fstat(opened.file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
               status.st_uid == ::geteuid() && status.st_nlink == 1;
    };
    if (!is_ours()) { // somebody else's file, a link or a pipe in our place
        ::unlinkat(at->folder.get(), name.c_str(), 0);
        opened.file = open_it();
    }
    if (!is_ours()) {
        return tree_error(printable(wanted.name), opened.file.open() ? EEXIST : errno);
    }
    // Locked as long as it is open. What another transfer has just finished has its own name by now.
    struct stat named{};
    if (::flock(opened.file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return begun_by_another();
    }
    if (::fstatat(at->folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        named.st_ino != status.st_ino || named.st_dev != status.st_dev) {
        return begun_by_another();
    }
    // The last byte comes anew in any case: whoever reads it tells what the digest is.
    opened.begun =
        anew ? 0 : std::clamp<std::int64_t>(status.st_size, 0, std::max<std::int64_t>(wanted.size - 1, 0));
    if (::ftruncate(opened.file.get(), opened.begun) != 0) {
        return tree_error(printable(wanted.name), errno);
    }
    struct statvfs room{};
    const auto left = static_cast<std::uint64_t>(wanted.size - opened.begun);
    if (::fstatvfs(opened.file.get(), &room) == 0 &&
        left / std::max<std::uint64_t>(room.f_frsize, 1) > room.f_bavail) {
        if (opened.begun == 0) {
            ::unlinkat(at->folder.get(), name.c_str(), 0);
        }
        return no_room(left, room.f_bavail * room.f_frsize);
    }
    return opened;
}

Result<bool> TargetFiles::finish(const std::string& id, Fd& file, const std::string& digest) {
    const auto& wanted = listed(id);
    const auto at = place(wanted.name);
    TRY(at);
    const auto name = begun_name(wanted);
    if (wanted.size > 0) {
        const auto expected = expected_(wanted.number);
        if (expected.empty()) {
            ::unlinkat(at->folder.get(), name.c_str(), 0);
            return file_given_up();
        }
        if (expected != digest) {
            return ::ftruncate(file.get(), 0) == 0 ? Result<bool>(false)
                                                   : tree_error(printable(wanted.name), errno);
        }
    }
    const timespec times[2]{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, to_timespec(wanted.time_ns)};
    Fd told(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)); // NFS tells of a full disk when one is closed
    if (::fchmod(file.get(), wanted.mode & 0777U) != 0 || ::futimens(file.get(), times) != 0 ||
        !told.open() || ::close(told.release()) != 0 ||
        ::renameat(at->folder.get(), name.c_str(), at->folder.get(), at->name.c_str()) != 0) {
        return tree_error(printable(wanted.name), errno);
    }
    return true;
}

// --- where they are ---

Result<BlobFiles::Opened> OriginFiles::open(const std::string& id, bool /*anew*/) {
    const auto& file = listed(id);
    Opened opened{.file = reopen(id), .begun = file.size};
    return is_as_listed(file, opened.file.get()) ? Result<Opened>(std::move(opened)) : file_given_up();
}

Result<bool> OriginFiles::finish(const std::string& id, Fd& file, const std::string& digest) {
    if (!is_as_listed(listed(id), file.get())) {
        return file_given_up();
    }
    tell_({.file = listed(id).number, .digest = digest});
    return true;
}

} // namespace dockdist::node
