#include "node/system/account_folders.hpp"

#include "node/system/os.hpp"

#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

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
