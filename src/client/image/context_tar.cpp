#include "client/image/context_tar.hpp"

#include "client/image/context_walk.hpp"
#include "client/image/temporary_files.hpp"
#include "shared/core/text.hpp"
#include "shared/tree/read_tree.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
};

class Packer {
public:
    Packer(ContextFolder context, const PackProgress& on_progress)
        : context_(std::move(context)), on_progress_(on_progress) {}

    // Writes everything to `file`.
    Status pack(int file, const ContextFiles& more) {
        ::archive_write_set_format_gnutar(tar_.get());
        ::archive_write_set_bytes_per_block(tar_.get(), static_cast<int>(piece));
        ::archive_write_set_bytes_in_last_block(tar_.get(), 512);
        if (::archive_write_open_fd(tar_.get(), file) != ARCHIVE_OK) {
            return disk();
        }
        auto packed = walk_context(context_, [this](const ContextEntry& found) {
            return S_ISREG(found.status.st_mode) ? pack_file(found) : write_header(found, 0);
        });
        if (!packed) {
            return packed;
        }
        for (const auto& [name, content] : more) {
            ContextEntry found{.name = name};
            found.status.st_mode = S_IFREG | S_IRUSR | S_IWUSR;
            if (const auto written = write_header(found, content.size()); !written) {
                return written;
            }
            if (::archive_write_data(tar_.get(), content.data(), content.size()) !=
                static_cast<la_ssize_t>(content.size())) {
                return disk();
            }
        }
        if (::archive_write_close(tar_.get()) != ARCHIVE_OK) {
            return disk();
        }
        return tell();
    }
    PackedSize size() const { return size_; }

private:
    Error disk() {
        const int why = ::archive_errno(tar_.get());
        auto error = temporary_error(temporary_place(), why > 0 ? why : EIO);
        error.message = fmt::format("cannot keep the build's files: {}", std::strerror(why > 0 ? why : EIO));
        error.hint = "free disk space on this machine, or set TMPDIR to a folder with room for the files; "
                     "a .dockerignore leaves out what the build does not need";
        return error;
    }
    Status pack_file(const ContextEntry& found) {
        const auto file = open_file(context_.root, found.name);
        struct stat now{};
        if (!file.open() || ::fstat(file.get(), &now) != 0) {
            return unreadable_for_build(context_.path + "/" + found.name, errno);
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
                return unreadable_for_build(context_.path + "/" + found.name, errno);
            }
            if (count == 0) {
                return Error{ErrorKind::config, printable(context_.path + "/" + found.name),
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
            return Error{ErrorKind::interrupted, "", "the packing of the build's files was stopped", ""};
        }
        return ok;
    }

    Status write_header(const ContextEntry& found, std::uint64_t size) {
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

    ContextFolder context_;
    const PackProgress& on_progress_;
    std::unique_ptr<archive, Free> tar_{::archive_write_new()};
    std::vector<char> buffer_ = std::vector<char>(piece);
    PackedSize size_{};
    PackedSize told_{};
};

} // namespace

Result<PackedSize> write_context(ContextFolder context, const ContextFiles& more, int file,
                                 const PackProgress& on_progress) {
    Packer packer(std::move(context), on_progress);
    TRY(packer.pack(file, more));
    return packer.size();
}

} // namespace dockdist
