#include "node/system/roots_way.hpp"

#include "node/system/os.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dockdist::node {
namespace {

constexpr int way_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int most_interpreters = 4; // of one another; the kernel goes no further

std::string link_target(int folder, const std::string& name) {
    std::string target(PATH_MAX, '\0');
    const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
}

bool in_user_namespace() {
    static const bool inside = [] {
        const auto map = read_file_or_empty("/proc/self/uid_map"); // "0 0 4294967295" is the machine's own
        return map.find("4294967295") == std::string::npos && !map.empty();
    }();
    return inside;
}

MountedAs mounted_as(int place) {
    struct statvfs about{};
    const auto text = read_file_or_empty("/proc/sys/kernel/overflowuid");
    return {.read_only = ::fstatvfs(place, &about) == 0 && (about.f_flag & ST_RDONLY) != 0,
            .user_namespace = in_user_namespace(),
            .overflow = whole_number<uid_t>(text.substr(0, text.find('\n'))).value_or(MountedAs{}.overflow)};
}

bool is_roots(int place, struct stat& status) {
    return ::fstat(place, &status) == 0 &&
           only_root_changes(status, status.st_uid == 0 ? MountedAs{} : mounted_as(place));
}

struct Walk {
    RootsWay way{};
    bool to_end = false; // what stands at way.next is the last of the path
};

Walk walk(const std::string& path) {
    constexpr int most_links = 40;
    Walk walk{.way = {.folder = Fd(::open("/", way_flags))}};
    auto& way = walk.way;
    std::vector<std::string> left; // backwards
    const auto put = [&left](const std::string& more) {
        const auto components = split(more, '/');
        left.insert(left.end(), components.rbegin(), components.rend());
    };
    const auto fail = [&](int number) {
        way.number = number;
        walk.to_end = std::ranges::all_of(left, &std::string::empty);
        return std::move(walk);
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
        const bool alone = is_roots(way.folder.get(), parent);
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
                way.folder = Fd(::open("/", way_flags));
            }
            put(target);
            continue;
        }
        Fd next(::openat(way.folder.get(), component.c_str(), way_flags));
        if (!next.open()) {
            way.next = component;
            return fail(errno);
        }
        way.folder = std::move(next);
    }
    walk.to_end = true;
    return walk;
}

bool is_roots_program(const std::string& path, int depth) {
    const auto [way, to_end] = walk(path);
    if (!path.starts_with('/') || way.number != ENOTDIR || !to_end || depth > most_interpreters) {
        return false;
    }
    const Fd file(::openat(way.folder.get(), way.next.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!file.open() || !is_roots(file.get(), status) || !S_ISREG(status.st_mode)) {
        return false;
    }
    // What cannot be read is no script that could run.
    const Fd text(
        ::openat(way.folder.get(), way.next.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    std::array<char, 256> bytes{};
    const auto count = text.open() ? ::read(text.get(), bytes.data(), bytes.size()) : 0;
    const auto interpreter =
        interpreter_in({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
    return interpreter.empty() || is_roots_program(interpreter, depth + 1);
}

} // namespace

bool only_root_changes(const struct stat& status, const MountedAs& mounted) {
    const bool of_machines_root =
        mounted.user_namespace && mounted.read_only && status.st_uid == mounted.overflow;
    return (status.st_uid == 0 || of_machines_root) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string interpreter_in(std::string_view first_bytes) {
    if (!first_bytes.starts_with("#!")) {
        return {};
    }
    const auto begin = first_bytes.find_first_not_of(" \t", 2);
    const auto end = first_bytes.find_first_of(std::string_view(" \t\n\0", 4), begin);
    return begin == std::string_view::npos ? std::string()
                                           : std::string(first_bytes.substr(begin, end - begin));
}

RootsWay roots_way(const std::string& path) {
    auto way = walk(path).way;
    way.next = way.number == 0 ? way.next : std::string();
    return way;
}

bool is_roots_folder(const std::string& path) {
    const auto way = roots_way(path);
    struct stat status{};
    return path.starts_with('/') && way.number == 0 && is_roots(way.folder.get(), status);
}

bool is_roots_program(const std::string& path) {
    return is_roots_program(path, 0);
}

} // namespace dockdist::node
