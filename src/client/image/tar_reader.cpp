#include "client/image/tar_reader.hpp"

#include "shared/core/new_file.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>
#include <vector>

namespace dockdist {
namespace {

struct FreeArchive {
    void operator()(archive* a) const { ::archive_free(a); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

constexpr std::uint64_t most_read_ahead = 16 << 20; // of a tar, by libarchive, before what it has read counts
constexpr int most_entries = 2000; // an image has four for each of its 127 layers at most, and few others

Error no_tar(archive* from) {
    const char* why = ::archive_error_string(from);
    return {ErrorKind::protocol, "",
            fmt::format("the image's tar cannot be read: {}", why == nullptr ? "it is cut short" : why),
            "was the connection to that engine cut? run the command again"};
}

Error disk(const std::filesystem::path& path, int why) {
    return {ErrorKind::internal, path.string(), fmt::format("cannot keep a layer: {}", std::strerror(why)),
            "free disk space on this machine, or set TMPDIR to a folder with room for the image"};
}

// Nothing: it has holes, with which a few bytes would fill the disk with zeros.
Result<std::optional<SavedBlob>> keep(archive* from, const std::filesystem::path& path, GrowingFiles& growing,
                                      std::vector<char>& buffer) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return disk(path, errno);
    }
    const std::unique_ptr<const int, void (*)(const int*)> closing(
        &fd, [](const int* number) { ::close(*number); });
    Sha256 hash;
    SavedBlob blob{.path = path.string()};
    growing.begin(path);
    const auto begin = ::archive_filter_bytes(from, 0);
    const auto has_holes = [&](std::uint64_t slack) {
        return blob.size > static_cast<std::uint64_t>(::archive_filter_bytes(from, 0) - begin) + slack;
    };
    while (true) {
        const auto count = ::archive_read_data(from, buffer.data(), buffer.size());
        if (count < 0) {
            return no_tar(from);
        }
        if (count == 0) {
            break;
        }
        const auto size = static_cast<std::size_t>(count);
        if (blob.size == 0) {
            const std::string_view first(buffer.data(), size);
            blob.gzip = first.starts_with("\x1f\x8b");
            blob.zstd = first.starts_with("\x28\xb5\x2f\xfd");
        }
        hash.add({buffer.data(), size});
        if (!write_whole(fd, {buffer.data(), size})) {
            return disk(path, errno);
        }
        blob.size += size;
        growing.grow(size);
        if (has_holes(most_read_ahead)) {
            return std::optional<SavedBlob>();
        }
    }
    if (has_holes(0)) {
        return std::optional<SavedBlob>();
    }
    blob.digest = hash.digest();
    return std::optional(std::move(blob));
}

} // namespace

Result<std::map<std::string, SavedBlob>> take_tar_apart(int from, const std::filesystem::path& folder,
                                                        GrowingFiles& growing) {
    const Archive tar(::archive_read_new());
    ::archive_read_support_format_tar(tar.get());
    if (::archive_read_open_fd(tar.get(), from, 1 << 20) != ARCHIVE_OK) {
        return no_tar(tar.get());
    }
    std::map<std::string, SavedBlob> files;
    std::map<std::string, std::string> links;
    int count = 0, entries = 0;
    std::vector<char> buffer(1 << 20);
    archive_entry* entry = nullptr;
    int code = ARCHIVE_OK;
    while ((code = ::archive_read_next_header(tar.get(), &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
        const char* name = ::archive_entry_pathname(entry);
        if (++entries > most_entries) {
            return Error{ErrorKind::protocol, "",
                         fmt::format("what the engine gave as an image is not one: it has more than {} files",
                                     most_entries),
                         ""};
        }
        if (name == nullptr) {
            continue;
        }
        if (const char* target = ::archive_entry_hardlink(entry); target != nullptr) {
            links[name] = target;
        } else if (const char* symbolic = ::archive_entry_symlink(entry); symbolic != nullptr) {
            links[name] = resolve_in_tar(name, symbolic);
        } else if (::archive_entry_filetype(entry) == AE_IFREG) {
            auto blob = keep(tar.get(), folder / std::to_string(count), growing, buffer);
            TRY(blob);
            if (!*blob) {
                return Error{ErrorKind::protocol, "",
                             fmt::format("what the engine gave as an image is not one: {} in it has holes",
                                         printable(name)),
                             "`docker save` writes no such file"};
            }
            (*blob)->file = count++;
            files.try_emplace(name, std::move(**blob));
        }
    }
    if (code != ARCHIVE_EOF) {
        return no_tar(tar.get());
    }
    for (const auto& [name, target] : links) {
        if (const auto found = files.find(target); found != files.end()) {
            files.try_emplace(name, found->second);
        }
    }
    return files;
}

} // namespace dockdist
