#include "client/own_ssh/user_files.hpp"

#include "shared/core/new_file.hpp"
#include "shared/core/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::user_files {

namespace fs = std::filesystem;

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
    return replace_whole_file(path.string(), text, {.mode = mode, .on_disk = true})
               ? Status(ok)
               : Status(error_of(path, errno));
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
    : file_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    while (file_.open() && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
}

} // namespace dockdist::user_files
