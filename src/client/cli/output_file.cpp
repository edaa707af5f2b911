#include "client/cli/output_file.hpp"

#include "shared/core/new_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr mode_t permissions = 0777;
constexpr int most_links = 40; // as the kernel has it

mode_t mode_of_new_files() {
    const auto mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

bool is_trusted(const struct stat& status) {
    return status.st_uid == ::geteuid() || status.st_uid == 0;
}

} // namespace

// What is to be written, behind links.
struct OutputFile::Place {
    std::string path{};
    bool in_place = false; // no file: it is opened, and not replaced
    mode_t mode = 0;
    int why_not = 0; // errno's
};

OutputFile::Place OutputFile::place() const {
    Place place{.path = path_, .mode = mode_of_new_files()};
    struct stat status{};
    for (int links = 0; ::lstat(place.path.c_str(), &status) == 0 && S_ISLNK(status.st_mode); ++links) {
        if (links == most_links || !is_trusted(status)) {
            place.why_not = links == most_links ? ELOOP : EPERM;
            return place;
        }
        std::error_code failed;
        const std::filesystem::path link = place.path;
        const auto next = (link.parent_path() / std::filesystem::read_symlink(link, failed)).string();
        if (::lstat(next.c_str(), &status) != 0 && ::stat(place.path.c_str(), &status) == 0) {
            break; // of /proc, to what has no name: a pipe
        }
        place.path = next;
    }
    if (::stat(place.path.c_str(), &status) != 0) {
        place.why_not = errno == ENOENT ? 0 : errno;
    } else if (S_ISDIR(status.st_mode)) {
        place.why_not = EISDIR;
    } else if (::access(place.path.c_str(), W_OK) != 0) {
        place.why_not = errno;
    } else if (S_ISREG(status.st_mode)) {
        place.mode = status.st_uid == ::geteuid() ? status.st_mode & permissions : place.mode;
    } else {
        place.in_place = true;
        place.why_not = is_trusted(status) ? 0 : EPERM;
    }
    return place;
}

Status OutputFile::check() const {
    const auto at = place();
    if (at.why_not != 0 || at.in_place) {
        return at.why_not == 0 ? Status(ok) : error(at.why_not);
    }
    return NewFile(at.path).open() ? Status(ok) : error(errno);
}

Status OutputFile::write(std::string_view text) const {
    const auto at = place();
    if (at.why_not != 0) {
        return error(at.why_not);
    }
    if (at.in_place) {
        const Fd file(::open(at.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
        return file.open() && write_whole(file.get(), text) ? Status(ok) : error(errno);
    }
    return replace_whole_file(at.path, text, {.mode = at.mode}) ? Status(ok) : error(errno);
}

void OutputFile::remove() const {
    if (const auto at = place(); at.why_not == 0 && !at.in_place) {
        ::unlink(at.path.c_str());
    }
}

Error OutputFile::error(int number) const {
    return {ErrorKind::usage, path_, std::string("cannot be written: ") + std::strerror(number),
            fmt::format("give {} a file in a folder that you may write to", option_)};
}

} // namespace dockdist
