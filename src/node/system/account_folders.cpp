#include "node/system/account_folders.hpp"

#include "core/text.hpp"
#include "node/system/os.hpp"

#include <climits>

#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// 0 or errno.
int make_folders_here(const std::string& path) {
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

bool only_root_changes(const struct stat& status) {
    return status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string link_target(int folder, const std::string& name) {
    std::string target(PATH_MAX, '\0');
    const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
}

// 0 or errno.
int make_and_give(const RootsWay& way, mode_t mode, Owner owner) {
    if (::mkdirat(way.folder.get(), way.next.c_str(), mode) != 0) {
        return errno;
    }
    const Fd made(::openat(way.folder.get(), way.next.c_str(), folder_flags));
    return made.open() && ::fchown(made.get(), owner.uid, owner.gid) == 0 && ::fchmod(made.get(), mode) == 0
               ? 0
               : errno;
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

RootsWay roots_way(const std::string& path) {
    constexpr int most_links = 40;
    RootsWay way{.folder = Fd(::open("/", folder_flags))};
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
                way.folder = Fd(::open("/", folder_flags));
            }
            put(target);
            continue;
        }
        Fd next(::openat(way.folder.get(), component.c_str(), folder_flags));
        if (!next.open()) {
            return fail(errno);
        }
        way.folder = std::move(next);
    }
    return way;
}

int make_as_account(const std::string& path, const Account& account) {
    const AsUser user(account);
    return user.status() ? make_folders_here(path) : EACCES;
}

int make_first_as_root(const std::string& path, const Account& account) {
    const auto way = roots_way(path);
    if (way.number != 0 || way.next.empty()) {
        return way.number != 0 ? way.number : EACCES;
    }
    const int number = make_and_give(way, 0755, {account.uid, account.gid});
    return number != 0 ? number : make_as_account(path, account);
}

void make_home_folder(const Account& account) {
    const auto& home = account.home;
    for (auto slash = home.find('/', 1);; slash = home.find('/', slash + 1)) {
        const auto way = roots_way(home.substr(0, slash));
        const bool end = slash == std::string::npos;
        const auto mode = end && account.uid == 0 ? 0700U : 0755U;
        const auto owner = end ? Owner{account.uid, account.gid} : Owner{};
        if (way.number != 0 || (!way.next.empty() && make_and_give(way, mode, owner) != 0)) {
            (void)make_as_account(home, account);
            return;
        }
        if (end) {
            return;
        }
    }
}

} // namespace dockdist::node
