#include "node/sync/sync_folder.hpp"

#include "core/text.hpp"
#include "node/system/os.hpp"

#include <climits>

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
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

bool is_own_layer(const struct stat& status) {
    struct stat root{};
    return ::stat("/", &root) == 0 && root.st_dev == status.st_dev;
}

// Where a way from "/" ends that nobody but root could have laid.
struct RootsWay {
    Fd folder{};        // the last folder of the way that is there
    std::string next{}; // below it, and not there; empty: the way is there to its end
    int number = 0;     // errno; EACCES: somebody else could have laid a part of it
};

bool only_root_changes(const struct stat& status) {
    return status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string link_target(int folder, const std::string& name) {
    std::string target(PATH_MAX, '\0');
    const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
}

// A link is followed where only root could have put it. In root's folder for all, as /tmp, whose sticky bit
// is set, nobody else can have put a folder of root's, but they may have put a link.
RootsWay roots_way(const std::string& path) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    constexpr int most_links = 40;
    RootsWay way{.folder = Fd(::open("/", flags))};
    std::vector<std::string> left; // backwards
    const auto put = [&left](const std::string& more) {
        const auto components = split(more, '/');
        left.insert(left.end(), components.rbegin(), components.rend());
    };
    const auto fail = [&way](int number) {
        way.number = number;
        return std::move(way);
    };
    put(path);
    for (int links = 0; !left.empty();) {
        const auto component = std::exchange(left.back(), {});
        left.pop_back();
        if (component.empty() || component == ".") {
            continue;
        }
        struct stat parent{};
        struct stat status{};
        if (::fstat(way.folder.get(), &parent) != 0) {
            return fail(errno);
        }
        const bool alone = only_root_changes(parent);
        if (::fstatat(way.folder.get(), component.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            way.next = component;
            return fail(!alone ? EACCES : errno == ENOENT ? 0 : errno);
        }
        if (!alone && !(parent.st_uid == 0 && (parent.st_mode & S_ISVTX) != 0 && status.st_uid == 0 &&
                        S_ISDIR(status.st_mode))) {
            return fail(EACCES);
        }
        if (S_ISLNK(status.st_mode)) {
            const auto target = link_target(way.folder.get(), component);
            if (target.empty() || ++links > most_links) {
                return fail(ELOOP);
            }
            if (target.front() == '/') {
                way.folder = Fd(::open("/", flags));
            }
            put(target);
            continue;
        }
        Fd next(::openat(way.folder.get(), component.c_str(), flags));
        if (!next.open()) {
            return fail(errno);
        }
        way.folder = std::move(next);
    }
    return way;
}

// The first missing folder of the way, for the account, which makes the rest of it. 0 or errno.
int make_as_root(const std::string& path, const Account& account) {
    const auto way = roots_way(path);
    if (way.number != 0 || way.next.empty()) {
        return way.number != 0 ? way.number : EACCES;
    }
    if (::mkdirat(way.folder.get(), way.next.c_str(), 0755) != 0) {
        return errno;
    }
    const Fd made(
        ::openat(way.folder.get(), way.next.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return made.open() && ::fchown(made.get(), account.uid, account.gid) == 0 &&
                   ::fchmod(made.get(), 0755) == 0
               ? 0
               : errno;
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
            const AsUser user(account);
            number = number != 0 ? number : user.status() ? make_as_user(path) : EACCES;
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
