#include "shared/core/regular_file.hpp"

#include "shared/core/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::size_t most_of_any = 16U << 20U;
constexpr std::size_t piece_of_file = 64U << 10U;

Error unreadable(int number) {
    return {number == ENOENT ? ErrorKind::not_found : ErrorKind::internal, "", std::strerror(number), ""};
}

Status judge_kind(const struct stat& status) {
    if (S_ISREG(status.st_mode)) {
        return ok;
    }
    return Error{ErrorKind::internal, "",
                 S_ISDIR(status.st_mode)    ? "it is a folder"
                 : S_ISFIFO(status.st_mode) ? "it is a pipe, not a file"
                                            : "it is not a regular file",
                 ""};
}

} // namespace

Result<FileText> read_file(const std::filesystem::path& path, std::size_t most) {
    FileText file;
    if (::stat(path.c_str(), &file.status) != 0) {
        return unreadable(errno);
    }
    // Opening alone does something to a device, or to whoever waits behind a FIFO.
    TRY(judge_kind(file.status));
    // What has taken its place since holds up nobody either; nor do the kernel's files that wait for news.
    const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd.open() || ::fstat(fd.get(), &file.status) != 0) {
        return unreadable(errno);
    }
    TRY(judge_kind(file.status));
    while (file.text.size() < most) {
        const auto piece = read_piece(fd.get(), std::min(piece_of_file, most - file.text.size()));
        TRY(piece);
        if (piece->empty()) {
            break;
        }
        file.text += *piece;
    }
    return file;
}

std::optional<std::string> read_regular_file(const std::filesystem::path& path) {
    auto file = read_file(path, most_of_any + 1);
    return file && file->text.size() <= most_of_any ? std::optional(std::move(file->text)) : std::nullopt;
}

Result<std::string> read_piece(int file, std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t filled = 0;
    while (filled < size) {
        const auto count = ::read(file, bytes.data() + filled, size - filled);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return Error{ErrorKind::node, "", std::string("cannot read: ") + std::strerror(errno), ""};
        }
        if (count == 0) {
            break;
        }
        filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
}

} // namespace dockdist
