#include "shared/tree/read_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dockdist {
namespace {

using wire::TreeEntry;

constexpr std::size_t read_size = 256U << 10U;

TreeEntry::Type type_of(mode_t mode) {
    return S_ISREG(mode)   ? TreeEntry::Type::file
           : S_ISDIR(mode) ? TreeEntry::Type::folder
           : S_ISLNK(mode) ? TreeEntry::Type::link
                           : TreeEntry::Type::other;
}

TreeEntry entry_from(const struct stat& status, std::string name) {
    TreeEntry entry{.name = std::move(name), .type = type_of(status.st_mode), .mode = status.st_mode & 0777U};
    if (entry.type == TreeEntry::Type::file) {
        entry.size = static_cast<std::uint64_t>(status.st_size);
        entry.time_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    return entry;
}

std::string link_target(int folder, const std::string& name) {
    std::string target(4096, '\0');
    const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

} // namespace

Result<std::vector<TreeEntry>> list_folder(Folder& tree, const std::string& name) {
    const int folder = tree.below(name);
    if (folder < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) {
            return std::vector<TreeEntry>{};
        }
        return tree_error(name, errno);
    }
    Fd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseFolder> listing(own.open() ? ::fdopendir(own.get()) : nullptr);
    if (!listing) {
        return tree_error(name.empty() ? "." : name, errno);
    }
    (void)own.release(); // closedir closes it
    std::vector<TreeEntry> entries;
    errno = 0;
    while (const dirent* found = ::readdir(listing.get())) {
        const std::string component = found->d_name;
        struct stat status{};
        if (component == "." || component == ".." || wire::is_temporary(component) ||
            ::fstatat(folder, component.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue; // gone in the meantime
        }
        auto whole = name;
        whole += name.empty() ? "" : "/";
        whole += component;
        if (!wire::is_tree_name(whole)) {
            continue; // too long to have been made by anybody's path
        }
        auto entry = entry_from(status, std::move(whole));
        if (entry.type == TreeEntry::Type::link) {
            entry.target = link_target(folder, component);
        }
        entries.push_back(std::move(entry));
    }
    std::ranges::sort(entries, {}, &TreeEntry::name);
    return entries;
}

Fd open_file(Folder& tree, const std::string& name) {
    const auto place = tree.place(name);
    if (place.folder < 0) {
        return {};
    }
    // Non-blocking: a fifo that has just taken the file's place must not hold us up.
    Fd file(::openat(place.folder, place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (file.open() && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
        file.reset();
        errno = EINVAL;
    }
    return file;
}

Result<TreeEntry> entry_of(int file, const std::string& name) {
    struct stat status{};
    if (::fstat(file, &status) != 0) {
        return tree_error(name, errno);
    }
    return entry_from(status, name);
}

Result<std::string> digest_file(Folder& tree, const std::string& name) {
    const auto file = open_file(tree, name);
    if (!file.open()) {
        return tree_error(name, errno);
    }
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                                XXH3_freeState);
    XXH3_128bits_reset(state.get());
    while (true) {
        const auto piece = read_piece(file.get(), read_size);
        TRY(piece);
        if (piece->empty()) {
            break;
        }
        XXH3_128bits_update(state.get(), piece->data(), piece->size());
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
    return std::string(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
}

} // namespace dockdist
