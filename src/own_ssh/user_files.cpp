#include "own_ssh/user_files.hpp"

#include "core/random.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::user_files {
namespace {

namespace fs = std::filesystem;

Status write_whole(int fd, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const auto count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) {
            return error_of(path, errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return ok;
}

} // namespace

Error error_of(const fs::path& path, int number) {
    return {number == ENOENT ? ErrorKind::not_found : ErrorKind::internal, printable(path.string()),
            std::strerror(number), ""};
}

Result<std::string> read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return error_of(path, errno);
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string read_or_empty(const fs::path& path) {
    auto text = read(path);
    return text ? std::move(*text) : std::string();
}

Status replace(const fs::path& path, std::string_view text, mode_t mode) {
    const auto fresh = path.parent_path() / fmt::format(".{}.{}", path.filename().string(), random_hex(8));
    Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file.open()) {
        return error_of(path, errno);
    }
    auto written = write_whole(file.get(), text, path);
    if (written && (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 ||
                    ::rename(fresh.c_str(), path.c_str()) != 0)) {
        written = error_of(path, errno);
    }
    if (!written) {
        ::unlink(fresh.c_str());
    }
    return written;
}

Status make_folders(const fs::path& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        return ok;
    }
    if (path.has_parent_path() && path.parent_path() != path) {
        if (auto made = make_folders(path.parent_path()); !made) {
            return made;
        }
    }
    return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? Status(ok) : Status(error_of(path, errno));
}

WriterLock::WriterLock(const fs::path& folder)
    : file_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (file_.open() && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
}

} // namespace dockdist::user_files
