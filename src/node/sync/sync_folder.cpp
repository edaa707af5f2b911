#include "node/sync/sync_folder.hpp"

#include "node/system/account_folders.hpp"
#include "shared/core/text.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

struct CloseListing {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

Error folder_error(const std::string& path, int number, const Account& account) {
    const auto shown = printable(path);
    if (number == ENOTDIR) {
        return {.kind = ErrorKind::node,
                .message = shown + ": a file is there, or on the way to it",
                .hint = "remove it, or sync to another folder"};
    }
    if (number == EACCES || number == EPERM) {
        return {.kind = ErrorKind::node,
                .message = shown + ": the user " + account.name + " may not write there",
                .hint = "let that user own the folder, or sync to one below " + account.home};
    }
    return tree_error(shown, number);
}

bool is_own_layer(const struct stat& status) {
    struct stat root{};
    return ::stat("/", &root) == 0 && root.st_dev == status.st_dev;
}

bool is_empty(int folder) {
    Fd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseListing> listing(own.open() ? ::fdopendir(own.get()) : nullptr);
    if (!listing) {
        return false;
    }
    (void)own.release(); // closedir closes it
    errno = 0;
    while (const dirent* entry = ::readdir(listing.get())) {
        if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..") {
            return false;
        }
    }
    return errno == 0;
}

// An empty folder of root's in the container's own layer, of a WORKDIR, becomes the account's: but only where
// nobody else could have led the way to it, or else a link of theirs makes any folder of root's their own.
bool give_to(const Account& account, const std::string& path, int folder) {
    const auto way = roots_way(path);
    struct stat asked{};
    struct stat found{};
    return way.number == 0 && way.next.empty() && ::fstat(folder, &asked) == 0 &&
           ::fstat(way.folder.get(), &found) == 0 && asked.st_dev == found.st_dev &&
           asked.st_ino == found.st_ino && found.st_uid == 0 && is_own_layer(found) && is_empty(folder) &&
           ::fchown(folder, account.uid, account.gid) == 0;
}

bool may_write(int folder) {
    return ::faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

} // namespace

Result<SyncFolder> open_sync_folder(const std::string& path, const Account& account, bool make) {
    const auto open_as_user = [&](int& number) {
        const AsUser user(account);
        Fd folder(user.status() ? ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
        number = errno;
        return folder;
    };
    int number = 0;
    auto folder = open_as_user(number);
    if (!folder.open() && number == ENOENT && !make) {
        return SyncFolder{};
    }
    if (!folder.open() && number == ENOENT) {
        number = make_as_account(path, account);
        if (number == EACCES && ::geteuid() == 0) {
            number = make_first_as_root(path, account);
        }
        if (number != 0) {
            return folder_error(path, number, account);
        }
        folder = open_as_user(number);
    }
    struct stat status{};
    if (!folder.open() || ::fstat(folder.get(), &status) != 0) {
        return folder_error(path, number, account);
    }
    const bool own_layer = is_own_layer(status);
    if (make) {
        const auto writable = [&] {
            const AsUser user(account);
            const bool may = may_write(folder.get());
            number = errno;
            return may;
        };
        if (!writable()) {
            const int refused = number;
            if (refused != EACCES || ::geteuid() != 0 || !give_to(account, path, folder.get()) ||
                !writable()) {
                return folder_error(path, refused, account);
            }
        }
    }
    return SyncFolder{.folder = Folder(std::move(folder)), .maybe_shared = !own_layer};
}

} // namespace dockdist::node
