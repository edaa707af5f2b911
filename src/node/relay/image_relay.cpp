#include "node/relay/image_relay.hpp"

#include "node/relay/relay_http.hpp"
#include "node/relay/relay_input.hpp"
#include "node/relay/relay_store.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
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
constexpr const char* ahead_path =
    "/v2/dockdist/ahead"; // between relays: pieces, while the image is not known

class Relay {
public:
    Relay(wire::RelayOpening opening, RelayInput& input)
        : opening_(std::move(opening)), input_(input), store_(paths().blobs),
          authorization_(relay_authorization(opening_.token)) {}

    int run() {
        wire::RelayMessage listening;
        engine_ = listen_on("127.0.0.1", listening.engine_port);
        listening.address = opening_.address;
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
        if (!upstreams_.empty()) {
            std::thread([this] { take_ahead_of_upstream(); }).detach();
        }
        listen_to_client();
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

    void listen_to_client() {
        while (const auto line = input_.line()) {
            const auto piece = wire::parse_relay_piece(*line);
            if (piece ? !take(*piece) : !take_image(*line)) {
                return;
            }
        }
    }

    bool take_image(const std::string& line) {
        auto image = wire::parse_relay_image(line);
        const std::lock_guard lock(client_);
        if (!image || image_) {
            return false;
        }
        image_ = std::move(*image);
        store_.set_image(image_->blobs);
        client_changed_.notify_all();
        return true;
    }

    bool take(const wire::RelayPiece& piece) {
        if (piece.digest.empty()) {
            return take_ahead(input_, piece);
        }
        if (!store_.knows(piece.digest)) {
            return false;
        }
        if (piece.length == 0) {
            client_failed(piece.digest);
        }
        for (auto left = piece.length; left > 0;) {
            const auto bytes = input_.some(std::min(piece_size, static_cast<std::size_t>(left)));
            if (bytes.empty()) {
                return false;
            }
            left -= static_cast<std::int64_t>(bytes.size());
            if (is_asked_of_client(piece.digest) && !keep(piece.digest, bytes)) {
                client_failed(piece.digest);
            }
        }
        const std::lock_guard lock(client_);
        client_changed_.notify_all();
        return true;
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

    // --- before the image is known ---

    // False: nothing comes any more.
    bool take_ahead(RelayInput& from, const wire::RelayPiece& piece) {
        for (auto left = piece.length; left > 0;) {
            const auto bytes = from.some(std::min(piece_size, static_cast<std::size_t>(left)));
            if (bytes.empty()) {
                return false;
            }
            left -= static_cast<std::int64_t>(bytes.size());
            (void)store_.append_ahead(piece.file, bytes); // else it is fetched when the engine asks for it
        }
        return true;
    }

    void take_ahead_of_upstream() {
        auto answer = ask_relay(upstreams_.front(), ahead_path, 0, opening_.token);
        if (!answer) {
            return;
        }
        RelayInput from(answer->connection.get(), std::move(answer->begin));
        while (const auto line = from.line()) {
            const auto piece = wire::parse_relay_piece(*line);
            if (!piece || !piece->digest.empty() || !take_ahead(from, *piece)) {
                return;
            }
        }
    }

    void give_ahead(int fd) {
        if (!write_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")) {
            return;
        }
        RelayStore::AheadPlace at;
        while (true) {
            const auto bytes = store_.read_ahead(at, piece_size);
            if (bytes.empty() ||
                !write_all(fd, wire::to_line(wire::RelayPiece{
                                   .length = static_cast<std::int64_t>(bytes.size()), .file = at.file})) ||
                !write_all(fd, bytes)) {
                return;
            }
        }
    }

    // --- fetching ---

    void fetch(const std::string& digest) {
        for (const auto& upstream : upstreams_) {
            if (store_.whole(digest)) {
                break;
            }
            (void)read_from_relay(upstream, digest, store_.have(digest), opening_.token,
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
        if (request->path == ahead_path) {
            give_ahead(fd);
            return false;
        }
        const auto& image = wait_for_image();
        if (is_manifest_path(request->path)) {
            const auto headers = "Content-Type: " + image.media_type +
                                 "\r\nContent-Length: " + std::to_string(image.manifest.size()) + "\r\n\r\n";
            return write_all(fd, "HTTP/1.1 200 OK\r\n" + headers + (wants_body ? image.manifest : ""))
                .has_value();
        }
        const auto digest = blob_in_path(request->path);
        if (!store_.knows(digest) || request->offset > store_.size(digest)) {
            return answer(fd, "404 Not Found", "", "");
        }
        return serve_blob(fd, digest, request->offset, wants_body);
    }

    // Who asks knows that there is one: our client's line may be under way behind what it gave ahead.
    const wire::RelayImage& wait_for_image() {
        std::unique_lock lock(client_);
        client_changed_.wait(lock, [&] { return image_.has_value(); });
        return *image_; // it stays as it is
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

    wire::RelayOpening opening_;
    RelayInput& input_;
    RelayStore store_;
    std::string authorization_;
    std::vector<std::string> upstreams_{};
    Fd engine_{}, peers_{};
    std::mutex output_{}, client_{};
    std::condition_variable client_changed_{};
    std::optional<wire::RelayImage> image_{}; // under client_
    std::set<std::string> asked_of_client_{}, failed_of_client_{};
    std::atomic<bool> complained_ = false;
};

} // namespace

int run_image_relay() {
    std::signal(SIGPIPE, SIG_IGN);
    RelayInput input(STDIN_FILENO);
    const auto line = input.line();
    const auto opening =
        line ? wire::parse_relay_opening(*line) : Result<wire::RelayOpening>(Error{.message = "no opening"});
    if (!opening) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + opening.error().message + "\n");
        return 1;
    }
    if (const auto made = make_folder(paths().blobs, 0700, {::geteuid(), ::getegid()}); !made) {
        (void)write_all(STDERR_FILENO, "dockdist-init: " + made.error().message + "\n");
        return 1;
    }
    // Its threads may be anywhere when stdin ends: nothing of it outlives the process.
    auto* relay = new Relay(*opening, input); // NOLINT(cppcoreguidelines-owning-memory)
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
        alone = alone_in_container() ? alone + 1 : 0;
    }
    return 0;
}

} // namespace dockdist::node
