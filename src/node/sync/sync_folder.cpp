#include "node/sync/sync_folder.hpp"

#include "core/text.hpp"
#include "node/system/os.hpp"

#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

Error folder_error(const std::string& path, int number, const Account& account) {
    const auto shown = printable(path);
    if (number == ENOTDIR) {
        return {.kind = ErrorKind::node,
                .message = shown + ": a file stands there, or in the way to it",
                .hint = "remove it, or sync to another folder"};
    }
    if (number == EACCES || number == EPERM) {
        return {.kind = ErrorKind::node,
                .message = shown + ": the user " + account.name + " may not write there",
                .hint = "let that user own the folder, or sync to one below " + account.home};
    }
    return tree_error(shown, number);
}

// mkdir -p; 0 or errno.
int make_as_user(const std::string& path) {
    for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const auto part = path.substr(0, slash);
        if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
            struct stat status{};
            const int number = errno; // a parent may be read-only and there all the same
            if (::stat(part.c_str(), &status) != 0) {
                return number;
            }
        }
        if (slash == std::string::npos) {
            return 0;
        }
    }
}

// What only root may make, for the account. Goes down without following links, and makes nothing in a folder
// that is neither root's nor made here: there the account could have put anything in the way.
int make_as_root(const std::string& path, const Account& account) {
    Fd folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    bool ours = false;
    for (const auto& component : split(path, '/')) {
        if (component.empty()) {
            continue;
        }
        constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        Fd next(::openat(folder.get(), component.c_str(), flags));
        if (!next.open() && errno == ENOENT) {
            struct stat status{};
            if (::fstat(folder.get(), &status) != 0 || (status.st_uid != 0 && !ours)) {
                return EACCES;
            }
            if (::mkdirat(folder.get(), component.c_str(), 0755) != 0) {
                return errno;
            }
            next = Fd(::openat(folder.get(), component.c_str(), flags));
            if (!next.open() || ::fchown(next.get(), account.uid, account.gid) != 0 ||
                ::fchmod(next.get(), 0755) != 0) {
                return errno;
            }
            ours = true;
        } else if (!next.open()) {
            return errno == ELOOP ? EACCES : errno;
        }
        folder = std::move(next);
    }
    return 0;
}

bool is_own_layer(const struct stat& status) {
    struct stat root{};
    return ::stat("/", &root) == 0 && root.st_dev == status.st_dev;
}

bool may_write(int folder) {
    return ::faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

} // namespace

AsUser::AsUser(const Account& account) {
    if (::geteuid() != 0 || account.uid == 0) {
        return;
    }
    const auto groups = account.groups.empty() ? std::vector<gid_t>{account.gid} : account.groups;
    changed_ = true;
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setegid(account.gid) != 0 ||
        ::seteuid(account.uid) != 0) {
        status_ = node::system_error("cannot become user " + account.name, errno);
    }
}

AsUser::~AsUser() {
    if (changed_ && (::seteuid(0) != 0 || ::setegid(0) != 0)) {
        ::_exit(70); // never go on as who knows whom
    }
}

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
        {
            const AsUser user(account);
            if (!user.status()) {
                return user.status().error();
            }
            number = make_as_user(path);
        }
        if (number == EACCES && ::geteuid() == 0) {
            number = make_as_root(path, account);
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
            const bool give = number == EACCES && ::geteuid() == 0 && own_layer && status.st_uid == 0 &&
                              list_folder(path).empty();
            if (!give || ::fchown(folder.get(), account.uid, account.gid) != 0 || !writable()) {
                return folder_error(path, number, account);
            }
        }
    }
    return SyncFolder{.folder = Folder(std::move(folder)), .maybe_shared = !own_layer};
}

} // namespace dockdist::node
