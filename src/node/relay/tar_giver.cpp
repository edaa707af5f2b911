#include "node/relay/tar_giver.hpp"

#include "node/relay/relay.hpp"
#include "node/relay/relay_http.hpp"
#include "node/relay/relay_socket.hpp"
#include "node/relay/relay_thread.hpp"
#include "node/relay/toolkit_tar.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/secret.hpp"
#include "shared/core/text.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_opening = 64 << 10;
constexpr std::size_t given_to_engine_at_once = 256 << 10;
constexpr std::int64_t taker_idle_ms = 20'000;
constexpr std::int64_t told_every_ms = 250;

void tell_giver(const wire::RelayMessage& message) {
    (void)write_all(STDOUT_FILENO, wire::to_line(message));
}

// A connection that wants to be that of the engine that was told the path.
class TarStranger : public Stranger {
public:
    explicit TarStranger(const std::string& path) : path_(path) {}
    Verdict hear(std::string_view bytes, std::string& answer) override {
        bytes_ += bytes;
        const auto request = take_relay_http(bytes_);
        if (request && !*request) {
            return Verdict::unknown;
        }
        if (request && (*request)->wants_body && (*request)->offset == 0 &&
            same_secret((*request)->path, path_)) {
            return Verdict::let_in;
        }
        answer += relay_answer("404 Not Found", "Connection: close\r\n", "");
        return Verdict::send_away;
    }

private:
    const std::string& path_;
    std::string bytes_{};
};

class TarGiver {
public:
    TarGiver(std::string token, std::string folder, std::vector<UstarEntry> entries)
        : path_("/" + std::move(token)), folder_(std::move(folder)), entries_(std::move(entries)) {}

    // For as long as the process lives.
    void keep_door(Fd listener) {
        Loop loop;
        const RelayAdmission door(
            loop, std::move(listener), {}, [this] { return std::make_unique<TarStranger>(path_); },
            [this](Fd connection, const std::unique_ptr<Stranger>&) {
                if (!given_.exchange(true)) { // it was asked for once
                    (void)start_thread(
                        [this, connection = std::move(connection)] { give(connection.get()); });
                }
            });
        loop.run();
    }

private:
    void give(int fd) {
        tell_giver({.type = wire::RelayMessage::Type::progress});
        keep_alive(fd);
        const auto given = give_all(fd);
        if (given) {
            tell_giver({.type = wire::RelayMessage::Type::done});
        } else {
            tell_giver({.type = wire::RelayMessage::Type::lost, .text = given.error().message});
        }
    }

    Status give_all(int fd) {
        auto sent = send(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/x-tar\r\nConnection: close\r\n"
                             "Content-Length: " +
                                 std::to_string(tar_size(entries_)) + "\r\n\r\n");
        for (const auto& entry : entries_) {
            sent = sent ? send(fd, ustar_header(entry)) : sent;
            sent = sent ? give_content(fd, entry) : sent;
            sent = sent ? send(fd, ustar_padding(entry)) : sent;
        }
        return sent ? send(fd, ustar_end()) : sent;
    }

    Status give_content(int fd, const UstarEntry& entry) {
        if (entry.type != UstarEntry::Type::file) {
            return ok;
        }
        const auto path = folder_ + "/" + entry.name;
        const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        std::string bytes;
        for (auto left = entry.size; left > 0;) {
            bytes.resize(std::min(given_to_engine_at_once, static_cast<std::size_t>(left)));
            const auto count = ::read(file.get(), bytes.data(), bytes.size());
            if (count <= 0) {
                return Error{ErrorKind::node, "", path + " cannot be read", ""};
            }
            bytes.resize(static_cast<std::size_t>(count));
            if (auto sent = send(fd, bytes); !sent) {
                return sent;
            }
            left -= count;
        }
        return ok;
    }

    Status send(int fd, const std::string& bytes) {
        auto sent = send_all(fd, bytes, taker_idle_ms);
        sent_ += static_cast<std::int64_t>(bytes.size());
        if (const auto now = monotonic_ms(); now >= told_ms_ + told_every_ms) {
            told_ms_ = now;
            tell_giver({.type = wire::RelayMessage::Type::progress, .bytes = sent_});
        }
        return sent;
    }

    std::string path_, folder_;
    std::vector<UstarEntry> entries_;
    std::atomic<bool> given_ = false;
    std::int64_t sent_ = 0;
    std::int64_t told_ms_ = monotonic_ms();
};

} // namespace

int give_tar(bool own_image) {
    std::signal(SIGPIPE, SIG_IGN);
    RelayInput input(read_from(STDIN_FILENO), longest_opening);
    const auto line = input.line();
    auto opening =
        line ? wire::parse_relay_opening(*line) : Result<wire::RelayOpening>(Error{.message = "no opening"});
    if (!opening) {
        return relay_failed(opening.error().message);
    }
    const auto& folder = own_image ? paths().image : paths().toolkit;
    auto entries = own_image ? relay_image_entries(folder) : toolkit_entries(folder);
    if (!entries) {
        return relay_failed(entries.error().message);
    }
    wire::RelayMessage listening;
    auto listener = listen_for_peers(*opening, listening);
    if (!listener || !listener->open()) {
        return relay_failed(listener ? "cannot listen on " + printable(listening.address)
                                     : listener.error().message + ": " + listener.error().hint);
    }
    // Its threads may be anywhere when the process ends.
    auto* giver = // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
        new TarGiver(std::move(opening->token), folder, std::move(*entries));
    if (!start_thread(
            [giver, listener = std::move(*listener)]() mutable { giver->keep_door(std::move(listener)); })) {
        return relay_failed("cannot start a thread");
    }
    tell_giver(listening);
    while (!input.some(longest_opening).empty()) {
    }
    std::_Exit(0);
}

int unpack_toolkit() {
    const auto copied = copy_toolkit(paths().image, paths().toolkit);
    return copied ? 0 : relay_failed(copied.error().message);
}

} // namespace dockdist::node
