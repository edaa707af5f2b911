#include "node/job/flight_look.hpp"

#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "shared/core/number.hpp"
#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/pickle.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t looks_ms = 50;
constexpr std::int64_t still_ms = 200; // that a dump does not grow, before it is taken for whole

std::int64_t modified_ns_of(const struct stat& status) {
    return status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

wire::FlightRecord without(std::string problem) {
    return {.problem = wire::stack_word(problem)};
}

// A regular file of the own user's, and none that something is linked to it from elsewhere.
wire::FlightRecord read_dump(const std::string& path) {
    const auto file = open_regular(path);
    if (!file) {
        return without(file.error().message);
    }
    struct stat status{};
    if (::fstat(file->get(), &status) != 0 || status.st_uid != ::geteuid() || status.st_nlink != 1 ||
        status.st_size > static_cast<off_t>(Pickle::most_bytes)) {
        return without("its flight recorder's dump is not its own file, or larger than 64 MiB");
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t read = 0;
    while (read < bytes.size()) {
        const auto count = ::read(file->get(), bytes.data() + read, bytes.size() - read);
        if (count <= 0) {
            break;
        }
        read += static_cast<std::size_t>(count);
    }
    bytes.resize(read);
    auto record = read_flight_dump(bytes, modified_ns_of(status));
    return record ? std::move(*record) : without("its flight recorder's dump is " + record.error().message);
}

} // namespace

FlightLook::FlightLook(std::string_view environ, int rank) {
    const auto pipe = variable_in(environ, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE");
    auto dump = variable_in(environ, "TORCH_FR_DUMP_TEMP_FILE");
    if (dump.empty()) {
        dump = variable_in(environ, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    }
    const auto number = whole_number<int>(variable_in(environ, "RANK")).value_or(rank);
    if (pipe.empty() || dump.empty() || number < 0) {
        return;
    }
    const auto path = dump + std::to_string(number);
    before_ = written(path);
    if (ask(pipe + std::to_string(number) + ".pipe")) {
        dump_ = path;
        asked_ms_ = monotonic_ms();
    }
}

bool FlightLook::ask(const std::string& pipe) {
    const Fd door(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!door.open()) {
        problem_ = errno == ENOENT  ? "" // no group of NCCL's yet, or a torch without the pipe
                   : errno == ENXIO ? "its flight recorder does not listen"
                                    : system_error("its flight recorder's pipe", errno).message;
        return false;
    }
    struct stat status{};
    if (::fstat(door.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
        problem_ = "its flight recorder's pipe is none";
        return false;
    }
    if (::write(door.get(), "1", 1) != 1 && errno != EAGAIN) { // full: it was asked already
        problem_ = system_error("its flight recorder's pipe", errno).message;
        return false;
    }
    return true;
}

FlightLook::Written FlightLook::written(const std::string& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0
               ? Written{.modified_ns = modified_ns_of(status), .size = status.st_size}
               : Written();
}

wire::FlightRecord FlightLook::read(std::int64_t limit_ms) const {
    if (dump_.empty()) {
        return without(problem_);
    }
    const auto begun_ms = monotonic_ms();
    auto last = before_;
    auto since_ms = begun_ms;
    while (true) {
        const auto now_ms = monotonic_ms();
        if (const auto now = written(dump_); now != last) { // it may have been there for long
            last = now;
            since_ms = now_ms;
        }
        if (last != before_ && now_ms - since_ms >= still_ms) {
            break;
        }
        if (last == before_ && now_ms - asked_ms_ >= limit_ms) {
            auto record = without("its flight recorder has not answered within " +
                                  std::to_string(limit_ms / 1000) + " s");
            record.silent = true;
            return record;
        }
        if (now_ms - begun_ms >= 2 * (limit_ms + still_ms)) {
            return without("its flight recorder's dump does not stop growing");
        }
        ::poll(nullptr, 0, static_cast<int>(looks_ms));
    }
    return read_dump(dump_);
}

} // namespace dockdist::node
