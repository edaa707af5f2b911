#include "node/system/store.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/json_reader.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_version = 100;

std::string version_file() {
    return paths().store + "/version";
}

// A full or read-only disk is the volume's, where that of other files would be the container's.
Error of_the_volume(Error error) {
    if (!error.hint.empty()) {
        error.hint = "this node's store is a volume (dockdist-store-…): see that the host's disk, where its "
                     "engine keeps volumes, is writable and not full, then `dockdist up`";
    }
    return error;
}

Status write_version() {
    const auto text = std::to_string(store_format) + " " + DOCKDIST_VERSION + "\n";
    if (auto written = replace_file(version_file(), text, 0600, {::geteuid(), ::getegid()}); !written) {
        return of_the_volume(written.error());
    }
    return ok;
}

} // namespace

Status check_store() {
    const auto text = read_file(version_file(), longest_version);
    if (!text) {
        return text.error().kind == ErrorKind::not_found ? Status(ok) : Status(text.error());
    }
    const auto words = split(text->substr(0, text->find('\n')), ' ');
    const auto format = whole_number<int>(words.front());
    if (format && *format <= store_format) {
        return ok;
    }
    return Error{.kind = ErrorKind::config,
                 .message = "this node's store of jobs is of format " + printable(words.front()) +
                            (words.size() > 1 ? ", made by dockdist " + printable(words[1]) : "") +
                            "; this is dockdist " DOCKDIST_VERSION ", which knows format " +
                            std::to_string(store_format),
                 .hint = "use that dockdist or a newer one; nothing was changed. `dockdist down --purge` "
                         "removes the store, with all that it holds"};
}

bool is_nearly_full(std::uint64_t free, std::uint64_t all) {
    constexpr std::uint64_t low_share = 20;
    return all > 0 && free < all / low_share;
}

bool disk_is_nearly_full() {
    struct statvfs disk{};
    return ::statvfs(paths().store.c_str(), &disk) == 0 && is_nearly_full(disk.f_bavail, disk.f_blocks);
}

wire::HistoryLimits load_history_limits() {
    wire::HistoryLimits limits;
    const auto object = wire::parse_object(read_file_or_empty(paths().store + "/history"), "the limits");
    if (object) {
        wire::ObjectReader reader(*object, "the limits");
        auto read = limits;
        read_history_limits(reader, read);
        limits = reader.failed() ? limits : read;
    }
    return limits;
}

Status save_history_limits(const wire::HistoryLimits& limits) {
    if (limits == load_history_limits()) {
        return ok; // a full disk is in nobody's way
    }
    return replace_file(paths().store + "/history", wire::dump(nlohmann::json(limits)), 0600,
                        {::geteuid(), ::getegid()});
}

Result<Fd> take_store() {
    const auto& store = paths().store;
    TRY(check_store());
    if (auto made = make_folders(store, 0700, {::geteuid(), ::getegid()}); !made) {
        return of_the_volume(made.error());
    }
    const auto path = store + "/lock";
    Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock.open()) {
        return of_the_volume(system_error("cannot write " + path, errno));
    }
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(lock.get(), F_OFD_SETLK, &whole) != 0) {
        const int why = errno;
        return why == EAGAIN || why == EACCES
                   ? Error{.kind = ErrorKind::busy, .message = "another container has this node's store"}
                   : system_error("cannot lock " + path, why);
    }
    if (read_file_or_empty(version_file()).empty()) {
        TRY(write_version());
    }
    return lock;
}

} // namespace dockdist::node
