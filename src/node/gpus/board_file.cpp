#include "node/gpus/board_file.hpp"

#include "node/system/paths.hpp"
#include "shared/core/fnv1a.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t unit_bytes = std::int64_t{1} << 48; // entries are before them
constexpr std::uint64_t unit_places = std::uint64_t{1} << 46;
constexpr int tries_for_an_entry = 4096;

std::string lock_path() {
    return paths().gpus + "/lock";
}
std::string board_path() {
    return paths().gpus + "/board.json";
}

std::int64_t unit_byte(const std::string& id) {
    return unit_bytes + static_cast<std::int64_t>(fnv1a(id) % unit_places);
}

struct flock one_byte(short type, std::int64_t byte) {
    struct flock range{};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = byte;
    range.l_len = 1;
    return range;
}

Error spoiled(const std::string& what) {
    return Error{.kind = ErrorKind::node,
                 .message = what + ": the nodes of this host cannot agree on its GPUs",
                 .hint =
                     "somebody has changed the volume dockdist-gpus of this host's engine; `--share` runs "
                     "without it, and `dockdist down --purge` of all clusters there makes room for a new "
                     "one"};
}

// Never waits (a fifo), never follows.
Result<Fd> open_plain(const std::string& path, int flags) {
    Fd file(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat status{};
    if (!file.open() && errno == ENOENT) {
        return Error{.kind = ErrorKind::not_found, .message = path + " is not there"};
    }
    if (!file.open() && errno != ELOOP && errno != ENXIO && errno != EISDIR) {
        return system_error("cannot open " + path, errno);
    }
    if (!file.open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return spoiled(path + " is not a regular file");
    }
    return file;
}

std::string read_bounded(int file) {
    std::string text(max_board_size + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const auto count = ::read(file, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        size += static_cast<std::size_t>(count);
    }
    text.resize(size);
    return text;
}

} // namespace

Result<BoardFile> BoardFile::open() {
    if (auto made = make_folders(paths().gpus, 0700, {::geteuid(), ::getegid()}); !made) {
        return spoiled(made.error().message);
    }
    auto lock = open_plain(lock_path(), O_RDWR | O_CREAT);
    TRY(lock);
    return BoardFile(std::move(*lock));
}

Result<BoardFile> BoardFile::open_to_look() {
    auto lock = open_plain(lock_path(), O_RDONLY);
    TRY(lock);
    return BoardFile(std::move(*lock));
}

bool BoardFile::lock(std::int64_t byte) const {
    auto range = one_byte(F_WRLCK, byte);
    return ::fcntl(lock_.get(), F_OFD_SETLK, &range) == 0;
}

void BoardFile::unlock(std::int64_t byte) const {
    auto range = one_byte(F_UNLCK, byte);
    (void)::fcntl(lock_.get(), F_OFD_SETLK, &range);
}

void BoardFile::release_mutex() {
    (void)::futimens(lock_.get(), nullptr);
    unlock(0);
}

std::int64_t BoardFile::released_at_ns() const {
    constexpr std::int64_t ns_of_a_second = 1'000'000'000;
    struct stat status{};
    return ::fstat(lock_.get(), &status) == 0
               ? status.st_mtim.tv_sec * ns_of_a_second + status.st_mtim.tv_nsec
               : 0;
}

bool BoardFile::is_locked(std::int64_t byte) const {
    auto range = one_byte(F_WRLCK, byte);
    return ::fcntl(lock_.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

Result<Board> BoardFile::read() const {
    const auto file = open_plain(board_path(), O_RDONLY);
    auto board = file ? parse_board(read_bounded(file->get())) : Result<Board>(Board{});
    if (!board && board.error().kind == ErrorKind::conflict) {
        return Error{.kind = ErrorKind::node,
                     .message = "cannot read " + board_path() + ": " + board.error().message,
                     .hint =
                         "another release of dockdist gives out this host's GPUs: install that one and run "
                         "`dockdist up`, which recreates this node; `--share` runs without asking"};
    }
    if (!board) {
        return Board{};
    }
    std::erase_if(board->entries, [&](const BoardEntry& entry) {
        return entry.id != entry_ && !is_locked(static_cast<std::int64_t>(entry.id));
    });
    return board;
}

Status BoardFile::check() const {
    struct stat own{};
    struct stat there{};
    if (::fstat(lock_.get(), &own) != 0 || ::lstat(lock_path().c_str(), &there) != 0 ||
        own.st_ino != there.st_ino || own.st_dev != there.st_dev) {
        return spoiled(lock_path() + " is another file than before");
    }
    return ok;
}

Status BoardFile::write(const Board& board) const {
    const auto text = board_text(board);
    if (board.entries.size() > max_board_entries || text.size() > max_board_size) {
        return spoiled("too many jobs wait on this host");
    }
    return replace_file(board_path(), text, 0600, {::geteuid(), ::getegid()});
}

Result<std::uint64_t> BoardFile::make_entry(Board& board) {
    for (int i = 0; i < tries_for_an_entry; ++i) {
        board.last_id = board.last_id % max_board_id + 1;
        // A board that was lost begins with 1 again, where somebody may still be.
        if (lock(static_cast<std::int64_t>(board.last_id))) {
            return entry_ = board.last_id;
        }
    }
    return spoiled("another one has locked all of " + lock_path());
}

bool BoardFile::lock_unit(const std::string& id) {
    return lock(unit_byte(id));
}

void BoardFile::unlock_unit(const std::string& id) {
    unlock(unit_byte(id));
}

bool BoardFile::unit_is_locked(const std::string& id) const {
    return is_locked(unit_byte(id));
}

std::optional<Fd> lock_port(const std::string& address, int port) {
    auto file = open_plain(paths().gpus + "/ports", O_RDWR | O_CREAT);
    if (!file) {
        return Fd();
    }
    auto range = one_byte(F_WRLCK, static_cast<std::int64_t>((fnv1a(address) % unit_places) << 16U |
                                                             static_cast<std::uint64_t>(port)));
    return ::fcntl(file->get(), F_OFD_SETLK, &range) == 0 ? std::optional(std::move(*file)) : std::nullopt;
}

void BoardFile::unlock_entry() {
    unlock(static_cast<std::int64_t>(std::exchange(entry_, 0)));
}

} // namespace dockdist::node
