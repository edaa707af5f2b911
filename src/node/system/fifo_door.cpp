#include "node/system/fifo_door.hpp"

#include "shared/core/random.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t number_digits = 16;
constexpr std::size_t longest_knock = 512; // so short a line is written whole or not at all
constexpr std::size_t door_holds = 64U << 10U;
constexpr int roomy_fifo = 1 << 20;
constexpr int look_again_ms = 500; // whether anybody is behind the door
constexpr std::int64_t longest_wait_ms = 60000;

// The FIFOs of a knock, as root sees them.
constexpr std::string_view knock_in = "in", knock_back = "back", knock_out = "out", knock_err = "err";
constexpr std::array knock_fifos{knock_in, knock_back, knock_out, knock_err};

std::string fifo_name(std::string_view number, std::string_view what) {
    return "fifo." + std::string(number) + "." + std::string(what);
}

// By the account.
Fd make_fifo(const std::string& path, int flags) {
    const bool made = ::mkfifo(path.c_str(), 0600) == 0;
    return made ? Fd(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC)) : Fd();
}

// By root. A descriptor of O_PATH opens nothing.
Fd open_fifo(const Fd& folder, const std::string& name, int flags) {
    const Fd place(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!place.open() || ::fstat(place.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
        return {};
    }
    return reopen(place.get(), flags);
}

Fd reach_door(const std::string& door) {
    return Fd(::open(door.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
}

bool is_knock_number(std::string_view text) {
    return text.size() == number_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

std::string Knock::path(std::string_view what) const {
    return folder_ + "/" + fifo_name(number_, what);
}

bool Knock::make(KnockWith with) {
    to_ = make_fifo(path(knock_in), O_RDWR | O_NONBLOCK);
    from_ = make_fifo(path(knock_back), O_RDONLY | O_NONBLOCK);
    bool made = to_.open() && from_.open();
    for (const auto& [output, what] : {std::pair{&out_, knock_out}, {&err_, knock_err}}) {
        if (with == KnockWith::outputs && made) {
            output->both = make_fifo(path(what), O_RDWR);
            output->own = Fd(::open(path(what).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
            made = output->both.open() && output->own.open();
        }
    }
    return made;
}

void Knock::withdraw() const {
    for (const auto what : knock_fifos) {
        ::unlink(path(what).c_str());
    }
}

Result<Knock> Knock::at(const std::string& door, const std::string& folder, std::string_view words,
                        KnockWith with) {
    const auto way = reach_door(door);
    if (!way.open()) {
        return system_error("nobody is at " + door, errno);
    }
    Knock knock;
    knock.door_ = door;
    knock.folder_ = folder;
    knock.number_ = random_hex(number_digits);
    if (!knock.make(with)) {
        auto error = system_error("cannot make a FIFO in " + folder, errno);
        knock.withdraw();
        return error;
    }
    (void)::fcntl(knock.out_.own.get(), F_SETPIPE_SZ, roomy_fifo);
    const auto line = "\n" + knock.number_ + " " + std::string(words) + "\n";
    while (::write(way.get(), line.data(), line.size()) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            auto error = system_error("nobody is at " + door, errno);
            knock.withdraw();
            return error;
        }
        pollfd room{.fd = way.get(), .events = POLLOUT, .revents = 0};
        (void)::poll(&room, 1, look_again_ms);
    }
    return knock;
}

void Knock::forget_outputs() {
    out_.own.reset();
    err_.own.reset();
}

// From now on nothing is held but what root is at the other end of, so that its leaving is noticed.
void Knock::hear() {
    char line = 0;
    if (::read(from_.get(), &line, 1) < 0) {
        return;
    }
    heard_ = true;
    out_.both.reset();
    err_.both.reset();
    if (auto one_way = reopen(to_.get(), O_WRONLY); one_way.open()) {
        to_ = std::move(one_way);
    }
}

bool Knock::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = ::write(to_.get(), bytes.data(), bytes.size());
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        pollfd room{.fd = to_.get(), .events = POLLOUT, .revents = 0};
        (void)::poll(&room, 1, bytes.empty() ? 0 : -1);
    }
    return true;
}

void Knock::end_words() {
    to_.reset();
}

bool Knock::await_heard() {
    const auto deadline = monotonic_ms() + longest_wait_ms;
    while (!heard_) {
        pollfd ready{.fd = from_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, look_again_ms) > 0) {
            hear();
        } else if (monotonic_ms() >= deadline || !reach_door(door_).open()) {
            withdraw();
            return false;
        }
    }
    return true;
}

Result<Fd> FifoDoor::make(const std::string& path, Owner owner) {
    ::unlink(path.c_str());
    auto door = make_fifo(path, O_RDWR | O_NONBLOCK);
    if (!door.open() || ::fchown(door.get(), owner.uid, owner.gid) != 0) {
        return system_error("cannot make " + path, errno);
    }
    return door;
}

FifoDoor::FifoDoor(Loop& loop, Fd door, std::string folder, KnockWith with,
                   std::function<void(Caller)> on_knock)
    : loop_(loop), door_(std::move(door)), folder_(std::move(folder)), with_(with),
      on_knock_(std::move(on_knock)) {
    loop_.watch(door_.get(), POLLIN, [this](short) { take_waiting(); });
}

FifoDoor::~FifoDoor() {
    loop_.forget(door_.get());
}

void FifoDoor::take_waiting() {
    std::array<char, 4096> buffer{};
    for (std::size_t taken = 0; taken < door_holds;) {
        const auto count = ::read(door_.get(), buffer.data(), buffer.size());
        if (count <= 0) {
            return;
        }
        taken += static_cast<std::size_t>(count);
        heard_.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t begin = 0;
        for (auto end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n', begin)) {
            take(std::string_view(heard_).substr(begin, end - begin));
            begin = end + 1;
        }
        heard_.erase(0, begin);
        if (heard_.size() > longest_knock) {
            heard_.clear();
        }
    }
}

void FifoDoor::take(std::string_view line) {
    const auto number = line.substr(0, line.find(' '));
    if (!is_knock_number(number) || number.size() == line.size() || line.size() > longest_knock) {
        return;
    }
    const Fd folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const auto open = [&](std::string_view what, int flags) {
        auto end = open_fifo(folder, fifo_name(number, what), flags);
        ::unlinkat(folder.get(), fifo_name(number, what).c_str(), 0);
        return end;
    };
    Caller caller{.words = std::string(line.substr(number.size() + 1)),
                  .from = open(knock_in, O_RDONLY),
                  .to = open(knock_back, O_WRONLY)};
    bool whole = caller.from.open() && caller.to.open();
    if (with_ == KnockWith::outputs) {
        caller.out = open(knock_out, O_RDONLY);
        caller.err = open(knock_err, O_RDONLY);
        whole = whole && caller.out.open() && caller.err.open();
    }
    if (whole && ::write(caller.to.get(), "\n", 1) == 1) {
        on_knock_(std::move(caller));
    }
}

} // namespace dockdist::node
