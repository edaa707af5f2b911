#include "image/context_tar.hpp"

#include "core/text.hpp"
#include "image/temporary_files.hpp"
#include "tree/read_tree.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace dockdist {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20U;
constexpr std::uint64_t told_every = std::uint64_t{8} << 20U;
constexpr std::uint64_t told_every_files = 500;

struct Free {
    void operator()(archive* a) const { ::archive_free(a); }
    void operator()(archive_entry* e) const { ::archive_entry_free(e); }
    void operator()(DIR* d) const { ::closedir(d); }
};

class Packer {
public:
    Packer(Folder folder, std::string path, const DockerIgnore& rules, const PackProgress& on_progress)
        : folder_(std::move(folder)), path_(std::move(path)), rules_(rules), on_progress_(on_progress) {}

    // Writes everything to `file`.
    Status pack(int file) {
        ::archive_write_set_format_gnutar(tar_.get());
        ::archive_write_set_bytes_per_block(tar_.get(), static_cast<int>(piece));
        ::archive_write_set_bytes_in_last_block(tar_.get(), 512);
        if (::archive_write_open_fd(tar_.get(), file) != ARCHIVE_OK) {
            return disk();
        }
        if (auto packed = pack_folder(""); !packed) {
            return packed;
        }
        if (::archive_write_close(tar_.get()) != ARCHIVE_OK) {
            return disk();
        }
        return tell();
    }
    PackedSize size() const { return size_; }

private:
    struct Found {
        std::string name{}; // from the tree's folder on
        struct stat status{};
        std::string target{};
    };

    Error disk() {
        const int why = ::archive_errno(tar_.get());
        auto error = temporary_error(temporary_place(), why > 0 ? why : EIO);
        error.message = fmt::format("cannot keep the build's files: {}", std::strerror(why > 0 ? why : EIO));
        error.hint = "free disk space on this machine, or set TMPDIR to a folder with room for the files; "
                     "a .dockerignore leaves out what the build does not need";
        return error;
    }
    std::string full(const std::string& name) const { return name.empty() ? path_ : path_ + "/" + name; }

    Result<std::vector<Found>> list(const std::string& name) {
        const int folder = folder_.below(name);
        Fd own(folder < 0 ? -1 : ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const std::unique_ptr<DIR, Free> listing(own.open() ? ::fdopendir(own.get()) : nullptr);
        if (!listing) {
            return unreadable_for_build(full(name), errno);
        }
        (void)own.release(); // closedir closes it
        std::vector<Found> all;
        while (const dirent* entry = ::readdir(listing.get())) {
            const std::string component = entry->d_name;
            Found found{.name = name.empty() ? component : name + "/" + component};
            if (component == "." || component == ".." ||
                ::fstatat(folder, component.c_str(), &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
                continue; // gone in the meantime
            }
            if (S_ISLNK(found.status.st_mode)) {
                std::array<char, 4096> target{};
                const auto size = ::readlinkat(folder, component.c_str(), target.data(), target.size());
                found.target.assign(target.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
            }
            all.push_back(std::move(found));
        }
        std::ranges::sort(all, {}, &Found::name);
        return all;
    }

    Status pack_folder(const std::string& name) {
        auto all = list(name);
        if (!all) {
            return all.error();
        }
        for (auto& found : *all) {
            const bool ignored = rules_.ignored(found.name);
            const bool is_folder = S_ISDIR(found.status.st_mode);
            if (ignored && !(is_folder && rules_.may_keep_below(found.name))) {
                continue;
            }
            const auto packed = is_folder ? pack_with_content(found, ignored) : pack_one(found);
            if (!packed) {
                return packed;
            }
        }
        return ok;
    }

    // A folder that is left out itself is written when something below it is.
    Status pack_with_content(const Found& found, bool ignored) {
        pending_.push_back(&found);
        if (!ignored) {
            if (const auto written = write_pending(); !written) {
                return written;
            }
        }
        const auto packed = pack_folder(found.name);
        if (!pending_.empty() && pending_.back() == &found) {
            pending_.pop_back();
        }
        return packed;
    }

    Status write_pending() {
        for (const auto* folder : std::exchange(pending_, {})) {
            if (const auto written = write_header(*folder, 0); !written) {
                return written;
            }
        }
        return ok;
    }

    Status pack_one(const Found& found) {
        if (!S_ISREG(found.status.st_mode) && !S_ISLNK(found.status.st_mode)) {
            return ok;
        }
        if (const auto written = write_pending(); !written) {
            return written;
        }
        return S_ISLNK(found.status.st_mode) ? write_header(found, 0) : pack_file(found);
    }

    Status pack_file(const Found& found) {
        const auto file = open_file(folder_, found.name);
        struct stat now{};
        if (!file.open() || ::fstat(file.get(), &now) != 0) {
            return unreadable_for_build(full(found.name), errno);
        }
        auto left = static_cast<std::uint64_t>(now.st_size);
        if (const auto written = write_header(found, left); !written) {
            return written;
        }
        while (left > 0) {
            const auto count = ::read(file.get(), buffer_.data(), std::min<std::uint64_t>(left, piece));
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count < 0) {
                return unreadable_for_build(full(found.name), errno);
            }
            if (count == 0) {
                return Error{ErrorKind::config, printable(full(found.name)),
                             "became shorter while it was read", "run the command again"};
            }
            if (::archive_write_data(tar_.get(), buffer_.data(), static_cast<std::size_t>(count)) != count) {
                return disk();
            }
            left -= static_cast<std::uint64_t>(count);
            size_.bytes += static_cast<std::uint64_t>(count);
            if (size_.bytes - told_.bytes >= told_every) {
                if (const auto told = tell(); !told) {
                    return told;
                }
            }
        }
        ++size_.files;
        return size_.files - told_.files >= told_every_files ? tell() : ok;
    }

    Status tell() {
        told_ = size_;
        if (on_progress_ && !on_progress_(size_)) {
            return Error{ErrorKind::interrupted, "", "the packing of the build's files was ended", ""};
        }
        return ok;
    }

    Status write_header(const Found& found, std::uint64_t size) {
        const std::unique_ptr<archive_entry, Free> entry(::archive_entry_new());
        ::archive_entry_set_pathname(entry.get(), found.name.c_str());
        ::archive_entry_set_mode(entry.get(), found.status.st_mode);
        ::archive_entry_set_mtime(entry.get(), found.status.st_mtim.tv_sec, 0);
        ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
        ::archive_entry_set_uid(entry.get(), 0);
        ::archive_entry_set_gid(entry.get(), 0);
        if (!found.target.empty()) {
            ::archive_entry_set_symlink(entry.get(), found.target.c_str());
        }
        return ::archive_write_header(tar_.get(), entry.get()) == ARCHIVE_OK ? Status(ok) : disk();
    }

    Folder folder_;
    std::string path_;
    const DockerIgnore& rules_;
    const PackProgress& on_progress_;
    std::unique_ptr<archive, Free> tar_{::archive_write_new()};
    std::vector<char> buffer_ = std::vector<char>(piece);
    std::vector<const Found*> pending_{}; // folders above, outermost first, that are not written yet
    PackedSize size_{};
    PackedSize told_{};
};

} // namespace

Error unreadable_for_build(const std::string& path, int number) {
    return {ErrorKind::config, printable(path), std::string("cannot be read: ") + std::strerror(number),
            "make it readable for you, or leave it out by a line in .dockerignore"};
}

Result<PackedSize> write_context(Folder folder, const std::string& path, const DockerIgnore& rules, int file,
                                 const PackProgress& on_progress) {
    Packer packer(std::move(folder), path, rules, on_progress);
    if (const auto packed = packer.pack(file); !packed) {
        return packed.error();
    }
    return packer.size();
}

} // namespace dockdist
