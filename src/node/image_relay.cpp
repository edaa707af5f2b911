#include "node/image_relay.hpp"

#include "node/network.hpp"
#include "node/os.hpp"
#include "node/paths.hpp"
#include "node/relay_http.hpp"
#include "node/relay_store.hpp"
#include "wire/image_relay.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t piece_size = 256 * 1024;

// stdin: lines, and bytes between them.
class Input {
public:
    std::optional<std::string> line() {
        std::size_t end = 0;
        while ((end = buffer_.find('\n')) == std::string::npos) {
            if (buffer_.size() > (16U << 20U) || !fill()) {
                return std::nullopt;
            }
        }
        std::string text = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return text;
    }
    // At most `limit` bytes; "" at the end.
    std::string some(std::size_t limit) {
        if (buffer_.empty() && !fill()) {
            return "";
        }
        std::string bytes = buffer_.substr(0, limit);
        buffer_.erase(0, bytes.size());
        return bytes;
    }

private:
    bool fill() {
        std::array<char, 65536> bytes{};
        ssize_t count = 0;
        do {
            count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        } while (count < 0 && errno == EINTR);
        buffer_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        return count > 0;
    }
    std::string buffer_{};
};

class Relay {
public:
    Relay(wire::RelayRequest request, Input& input)
        : request_(std::move(request)), input_(input), store_(paths().blobs, request_.blobs),
          authorization_(relay_authorization(request_.token)) {}

    int run() {
        wire::RelayMessage listening;
        engine_ = listen_on("127.0.0.1", listening.engine_port);
        listening.address = request_.address;
        peers_ = listen_on(listening.address, listening.peer_port);
        if (!peers_.open()) {
            listening.address = default_address();
            peers_ = listen_on(listening.address, listening.peer_port);
        }
        if (!engine_.open()) {
            (void)write_all(STDERR_FILENO, "dockdist-init: cannot listen on 127.0.0.1\n");
            return 1;
        }
        tell(listening);
        const auto line = input_.line();
        const auto upstreams =
            line ? wire::parse_upstreams(*line) : Result<std::vector<std::string>>(Error{});
        if (!upstreams) {
            return 1;
        }
        upstreams_ = *upstreams;
        std::thread([this] { accept_on(engine_); }).detach();
        if (peers_.open()) {
            std::thread([this] { accept_on(peers_); }).detach();
        }
        take_pieces();
        return 0;
    }

private:
    void tell(const wire::RelayMessage& message) {
        const std::lock_guard lock(output_);
        (void)write_all(STDOUT_FILENO, wire::to_line(message));
    }

    // What the engine is not told, and the client shows: this host's disk.
    Status keep(const std::string& digest, std::string_view bytes) {
        auto kept = store_.append(digest, bytes);
        if (!kept && kept.error().kind != ErrorKind::protocol && !complained_.exchange(true)) {
            (void)write_all(STDERR_FILENO, kept.error().message + "\n");
        }
        return kept;
    }

    // --- from the client ---

    void take_pieces() {
        while (const auto line = input_.line()) {
            const auto piece = wire::parse_relay_piece(*line);
            if (!piece || !store_.knows(piece->digest)) {
                return;
            }
            if (piece->length == 0) {
                client_failed(piece->digest);
            }
            for (auto left = piece->length; left > 0;) {
                const auto bytes = input_.some(std::min(piece_size, static_cast<std::size_t>(left)));
                if (bytes.empty()) {
                    return;
                }
                left -= static_cast<std::int64_t>(bytes.size());
                if (is_asked_of_client(piece->digest) && !keep(piece->digest, bytes)) {
                    client_failed(piece->digest);
                }
            }
            const std::lock_guard lock(client_);
            client_changed_.notify_all();
        }
    }

    void client_failed(const std::string& digest) {
        const std::lock_guard lock(client_);
        failed_of_client_.insert(digest);
        client_changed_.notify_all();
    }

    bool is_asked_of_client(const std::string& digest) {
        const std::lock_guard lock(client_);
        return asked_of_client_.contains(digest) && !failed_of_client_.contains(digest);
    }

    // Once for each blob: of a second try's pieces nobody could tell to which of the two they belong.
    void fetch_from_client(const std::string& digest) {
        {
            const std::lock_guard lock(client_);
            if (!asked_of_client_.insert(digest).second) {
                return;
            }
        }
        tell({.type = wire::RelayMessage::Type::want, .digest = digest, .offset = store_.have(digest)});
        std::unique_lock lock(client_);
        client_changed_.wait(lock,
                             [&] { return store_.whole(digest) || failed_of_client_.contains(digest); });
    }

    // --- fetching ---

    void fetch(const std::string& digest) {
        for (const auto& upstream : upstreams_) {
            if (store_.whole(digest)) {
                break;
            }
            (void)read_from_relay(upstream, digest, store_.have(digest), request_.token,
                                  [&](std::string_view bytes) -> Status {
                                      auto kept = keep(digest, bytes);
                                      if (kept && store_.whole(digest)) {
                                          return Error{}; // enough
                                      }
                                      return kept;
                                  });
        }
        if (!store_.whole(digest)) {
            fetch_from_client(digest);
        }
        store_.give_up(digest);
    }

    void have_fetched(const std::string& digest) {
        if (store_.claim(digest)) {
            std::thread([this, digest] { fetch(digest); }).detach();
        }
    }

    // --- serving ---

    void accept_on(const Fd& listener) {
        while (true) {
            Fd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!connection.open()) {
                if (errno == EINTR || errno == ECONNABORTED) {
                    continue;
                }
                return;
            }
            std::thread([this, fd = connection.release()] {
                const Fd own(fd);
                while (serve(fd)) {
                }
            }).detach();
        }
    }

    static bool answer(int fd, std::string_view status, std::string_view headers, std::string_view body) {
        return write_all(fd, "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(headers) +
                                 "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                 std::string(body))
            .has_value();
    }

    // One request. False: the connection is done.
    bool serve(int fd) {
        const auto head = read_head(fd);
        const auto request = head ? parse_relay_http(*head) : std::nullopt;
        if (!request || (request->method != "GET" && request->method != "HEAD")) {
            return false;
        }
        const bool wants_body = request->method == "GET";
        if (!same_secret(request->authorization, authorization_)) {
            return answer(fd, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"dockdist\"\r\n", "");
        }
        if (request->path == "/v2/") {
            return answer(fd, "200 OK", "Docker-Distribution-Api-Version: registry/2.0\r\n",
                          wants_body ? "{}" : "");
        }
        if (is_manifest_path(request->path)) {
            const auto headers = "Content-Type: " + request_.media_type +
                                 "\r\nContent-Length: " + std::to_string(request_.manifest.size()) +
                                 "\r\n\r\n";
            return write_all(fd, "HTTP/1.1 200 OK\r\n" + headers + (wants_body ? request_.manifest : ""))
                .has_value();
        }
        const auto digest = blob_in_path(request->path);
        if (!store_.knows(digest) || request->offset > store_.size(digest)) {
            return answer(fd, "404 Not Found", "", "");
        }
        return serve_blob(fd, digest, request->offset, wants_body);
    }

    bool serve_blob(int fd, const std::string& digest, std::int64_t offset, bool wants_body) {
        const auto size = store_.size(digest);
        const auto range = offset == 0
                               ? "200 OK\r\n"
                               : "206 Partial Content\r\nContent-Range: bytes " + std::to_string(offset) +
                                     "-" + std::to_string(size - 1) + "/" + std::to_string(size) + "\r\n";
        const auto head = "HTTP/1.1 " + range + "Content-Type: application/octet-stream\r\nContent-Length: " +
                          std::to_string(size - offset) + "\r\n\r\n";
        if (!write_all(fd, head)) {
            return false;
        }
        if (!wants_body) {
            return true;
        }
        have_fetched(digest);
        const int round = store_.round(digest);
        while (offset < size) {
            const auto bytes = store_.read(digest, offset, piece_size, round);
            if (bytes.empty() || !write_all(fd, bytes)) {
                return false;
            }
            offset += static_cast<std::int64_t>(bytes.size());
        }
        return true;
    }

    wire::RelayRequest request_;
    Input& input_;
    RelayStore store_;
    std::string authorization_;
    std::vector<std::string> upstreams_{};
    Fd engine_{}, peers_{};
    std::mutex output_{}, client_{};
    std::condition_variable client_changed_{};
    std::set<std::string> asked_of_client_{}, failed_of_client_{};
    std::atomic<bool> complained_ = false;
};

bool is_alone() {
    return std::ranges::all_of(list_folder("/proc"), [](const std::string& name) {
        return name == "1" || name.find_first_not_of("0123456789") != std::string::npos;
    });
}

} // namespace

int run_image_relay() {
    std::signal(SIGPIPE, SIG_IGN);
    Input input;
    const auto line = input.line();
    const auto request =
        line ? wire::parse_relay_request(*line) : Result<wire::RelayRequest>(Error{.message = "no request"});
    if (!request) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + request.error().message + "\n");
        return 1;
    }
    if (const auto made = make_folder(paths().blobs, 0700, {::geteuid(), ::getegid()}); !made) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + made.error().message + "\n");
        return 1;
    }
    // Its threads may be anywhere when stdin ends: nothing of it outlives the process.
    auto* relay = new Relay(*request, input); // NOLINT(cppcoreguidelines-owning-memory)
    std::_Exit(relay->run());
}

int hold_image_relay() {
    constexpr unsigned interval_s = 20;
    constexpr int most_alone = 3;
    for (const int signal : {SIGTERM, SIGINT}) {
        std::signal(signal, [](int) { ::_exit(0); }); // the first process has no default actions
    }
    for (int alone = 0; alone < most_alone;) {
        ::sleep(interval_s);
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        alone = is_alone() ? alone + 1 : 0;
    }
    return 0;
}

} // namespace dockdist::node
