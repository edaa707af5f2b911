#include "shared/core/trusted_path.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40; // as the kernel has it

bool is_own(uid_t user) {
    if (user == ::geteuid()) {
        return true;
    }
    const char* caller = std::getenv("SUDO_UID");
    return ::geteuid() == 0 && caller != nullptr && whole_number<uid_t>(caller) == user;
}

bool is_trusted(uid_t user) {
    return user == 0 || is_own(user);
}

std::string name_of_user(uid_t user) {
    const passwd* found = ::getpwuid(user);
    return found != nullptr ? printable(found->pw_name) : fmt::format("user {}", user);
}

std::string name_of_group(gid_t number) {
    const group* found = ::getgrgid(number);
    return found != nullptr ? printable(found->gr_name) : std::to_string(number);
}

// The group that bears a user's name and has nobody else in it: Debian and others give one to each user, with
// a umask that lets it write. What is not known of a group counts against it: whom a directory (LDAP) puts
// into one, a static program cannot see.
bool is_private_group(gid_t number) {
    const group* known = ::getgrgid(number);
    const passwd* user = known == nullptr ? nullptr : ::getpwnam(known->gr_name);
    if (user == nullptr || user->pw_gid != number || !is_trusted(user->pw_uid)) {
        return false;
    }
    const auto owner = user->pw_uid;
    const std::string name = user->pw_name;
    bool alone = true;
    ::setgrent();
    while (const group* other = ::getgrent()) { // a number may have several names
        for (char** member = other->gr_mem; other->gr_gid == number && *member != nullptr; ++member) {
            alone = alone && *member == name;
        }
    }
    ::endgrent();
    ::setpwent();
    while (const passwd* other = ::getpwent()) {
        alone = alone && (other->pw_gid != number || other->pw_uid == owner);
    }
    ::endpwent();
    return alone;
}

std::optional<OtherWriter> writer_by_mode(const std::string& path, const struct stat& status) {
    if ((status.st_mode & S_IWOTH) != 0) {
        return OtherWriter{fmt::format("everybody may write to {}", printable(path)), true};
    }
    if ((status.st_mode & S_IWGRP) == 0) {
        return std::nullopt;
    }
    if (!is_private_group(status.st_gid)) {
        return OtherWriter{
            fmt::format("the group {} may write to {}", name_of_group(status.st_gid), printable(path))};
    }
    // Where there is one, the bits of the group are what it lets anybody do.
    if (::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0) {
        return OtherWriter{fmt::format("an access control list lets others write to {}", printable(path))};
    }
    return std::nullopt;
}

OtherWriter owner_of(const std::string& path, const struct stat& status) {
    return {fmt::format("{} is {}'s", printable(path), name_of_user(status.st_uid))};
}

OtherWriter unknown(const std::string& path, int number) {
    return {fmt::format("{} cannot be looked at: {}", printable(path), std::strerror(number))};
}

// One component after the other: what lies before it can be changed by nobody else by then, so that it stays
// what it was judged to be.
class Way {
public:
    explicit Way(const fs::path& path) { go_on(path.string()); }

    std::optional<OtherWriter> judge(const struct stat* opened) {
        struct stat status{};
        for (auto wrong = enter("/", status); true; wrong = step(status)) {
            if (wrong || ahead_.empty()) {
                return wrong ? wrong : judge_end(status, opened);
            }
        }
    }

private:
    void go_on(const std::string& path) {
        auto parts = split(path, '/');
        std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "."; });
        ahead_.insert(ahead_.end(), parts.rbegin(), parts.rend());
    }

    std::optional<OtherWriter> step(struct stat& status) {
        const auto part = ahead_.back();
        ahead_.pop_back();
        if (part == "..") {
            return enter(fs::path(here_).parent_path().string(), status);
        }
        return enter(here_ == "/" ? "/" + part : here_ + "/" + part, status);
    }

    std::optional<OtherWriter> enter(const std::string& path, struct stat& status) {
        if (::lstat(path.c_str(), &status) != 0) {
            return unknown(path, errno);
        }
        if (!is_trusted(status.st_uid)) {
            auto owner = owner_of(path, status);
            owner.everybody = in_open_folder_; // whoever was the first to take the name
            return owner;
        }
        if (S_ISLNK(status.st_mode)) {
            return follow(path, status);
        }
        here_ = path;
        const bool folder = S_ISDIR(status.st_mode);
        in_open_folder_ = folder && (status.st_mode & S_IWOTH) != 0;
        const bool sticky = folder && (status.st_mode & S_ISVTX) != 0;
        return ahead_.empty() || sticky ? std::nullopt : writer_by_mode(path, status);
    }

    std::optional<OtherWriter> follow(const std::string& path, struct stat& status) {
        std::array<char, PATH_MAX> target{};
        const auto size = ::readlink(path.c_str(), target.data(), target.size());
        if (size < 0 || ++links_ > most_links) {
            return unknown(path, size < 0 ? errno : ELOOP);
        }
        go_on({target.data(), static_cast<std::size_t>(size)});
        // The folder that the target begins at has been judged.
        return enter(target.front() == '/' ? "/" : here_, status);
    }

    std::optional<OtherWriter> judge_end(const struct stat& status, const struct stat* opened) const {
        if (opened != nullptr && (opened->st_dev != status.st_dev || opened->st_ino != status.st_ino)) {
            return OtherWriter{fmt::format("{} has changed since it was read", printable(here_))};
        }
        const auto& end = opened != nullptr ? *opened : status;
        return is_trusted(end.st_uid) ? writer_by_mode(here_, end) : owner_of(here_, end);
    }

    std::string here_ = "/";           // without links
    std::vector<std::string> ahead_{}; // the next one last
    int links_ = 0;
    bool in_open_folder_ = false; // where everybody may take a name
};

} // namespace

std::optional<OtherWriter> other_writer(const fs::path& path, const struct stat* opened) {
    std::error_code failed;
    const auto whole = fs::absolute(path, failed);
    return failed ? unknown(path.string(), failed.value()) : Way(whole).judge(opened);
}

std::optional<OtherWriter> other_writer_of_found(const fs::path& path, const struct stat& opened) {
    const auto folder = path.parent_path().string();
    struct stat status{};
    if (::stat(folder.c_str(), &status) != 0) {
        return unknown(folder, errno);
    }
    if (!is_own(status.st_uid)) {
        return owner_of(folder, status);
    }
    if (auto writer = writer_by_mode(folder, status)) {
        return writer;
    }
    if (!is_own(opened.st_uid)) {
        return owner_of(path.string(), opened);
    }
    return other_writer(path, &opened);
}

} // namespace dockdist
