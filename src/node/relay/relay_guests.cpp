#include "node/relay/relay_guests.hpp"

#include "node/relay/relay_socket.hpp"
#include "node/relay/relay_thread.hpp"
#include "node/system/secret.hpp"

#include <array>
#include <chrono>

namespace dockdist::node {
namespace {

constexpr std::size_t given_at_once = 256 * 1024;
// To a relay: it hands on what it has checked, a message at a time, so each of a long chain adds the time
// that one message takes on its link.
constexpr std::size_t given_to_relay_at_once = 64 * 1024;
constexpr int most_guests = 256; // an engine pulls a few layers at once, and so do three relays behind
constexpr std::int64_t engine_idle_ms = 120'000; // engines keep a connection for 90 s
constexpr RelayPatience patience{};
constexpr std::chrono::milliseconds beat{patience.beat_ms};

} // namespace

template <class Serve>
void RelayGuests::let_in(Serve serve) {
    const bool has_room = count_.fetch_add(1) < most_guests;
    auto serve_one = [this, serve = std::move(serve)]() mutable {
        serve();
        --count_;
    };
    if (!has_room || !start_thread(std::move(serve_one))) {
        --count_;
    }
}

// --- the engine ---

void RelayGuests::let_engine_in(Fd connection, EngineStranger& stranger) {
    let_in([this, connection = std::move(connection), request = stranger.request(),
            rest = std::move(stranger.rest())]() mutable {
        serve_engine(connection.get(), std::move(request), std::move(rest));
        connection.reset();
    });
}

void RelayGuests::serve_engine(int fd, RelayHttpRequest request, std::string rest) {
    std::array<char, 4096> bytes{};
    while (answer(fd, request) && request.keep_alive) {
        auto next = take_relay_http(rest);
        while (next && !*next) {
            const auto count = receive(fd, bytes, engine_idle_ms);
            if (!count || *count == 0) {
                return;
            }
            rest.append(bytes.data(), *count);
            next = take_relay_http(rest);
        }
        if (!next) {
            return;
        }
        request = std::move(**next);
        if (!same_secret(request.authorization, authorization_)) {
            (void)send_all(fd, relay_refusal(), engine_idle_ms);
            return;
        }
    }
}

// False: the connection is done.
bool RelayGuests::answer(int fd, const RelayHttpRequest& request) {
    const auto send = [&](const std::string& text) { return send_all(fd, text, engine_idle_ms).has_value(); };
    if (request.path == "/v2/") {
        return send(relay_answer("200 OK", "Docker-Distribution-Api-Version: registry/2.0\r\n", "{}",
                                 request.wants_body));
    }
    // Who asks knows that there is one: our client's line may be under way behind what it gave ahead.
    const auto* image = client_.wait_for_image(beat);
    while (image == nullptr) {
        image = client_.wait_for_image(beat);
    }
    if (is_manifest_path(request.path)) {
        return send(relay_answer("200 OK", "Content-Type: " + image->media_type + "\r\n", image->manifest,
                                 request.wants_body));
    }
    const auto digest = blob_in_path(request.path);
    if (!store_.knows(digest) || request.offset > store_.size(digest)) {
        return send(relay_answer("404 Not Found", "", ""));
    }
    return give_blob(fd, request, digest);
}

bool RelayGuests::give_blob(int fd, const RelayHttpRequest& request, const std::string& digest) {
    const auto size = store_.size(digest);
    auto offset = request.offset;
    const auto range = offset == 0 ? "200 OK\r\n"
                                   : "206 Partial Content\r\nContent-Range: bytes " + std::to_string(offset) +
                                         "-" + std::to_string(size - 1) + "/" + std::to_string(size) + "\r\n";
    if (!send_all(fd,
                  "HTTP/1.1 " + range + "Content-Type: application/octet-stream\r\nContent-Length: " +
                      std::to_string(size - offset) + "\r\n\r\n",
                  engine_idle_ms)) {
        return false;
    }
    if (!request.wants_body) {
        return true;
    }
    have_fetched_(digest);
    const int round = store_.round(digest);
    while (offset < size) {
        const auto bytes = store_.read(digest, offset, given_at_once, round);
        if (bytes.empty() || !send_all(fd, bytes, engine_idle_ms)) {
            return false;
        }
        offset += static_cast<std::int64_t>(bytes.size());
    }
    return true;
}

// --- the relays behind ---

void RelayGuests::let_relay_in(Fd connection, RelayStranger& stranger) {
    keep_alive(connection.get());
    let_in(
        [this,
         to = std::make_shared<RelayAnswer>(std::move(connection), stranger.take_writer(), patience.idle_ms),
         request = stranger.request()]() mutable {
            if (answer(*to, request)) {
                (void)to->finish();
            }
            to.reset();
        });
}

// Errors: who asked is gone, or what was asked for does not come. It asks elsewhere.
Status RelayGuests::answer(RelayAnswer& to, const wire::RelayRequest& request) {
    if (auto begun = to.beat(); !begun) {
        return begun;
    }
    if (request.digest.empty()) {
        return request.count == 0 ? give_ahead(to) : give_files(to, request);
    }
    while (client_.wait_for_image(beat) == nullptr) {
        if (auto told = to.beat(); !told) {
            return told;
        }
    }
    if (!store_.knows(request.digest) || request.offset > store_.size(request.digest)) {
        return ok; // an end without a byte
    }
    return give_blob(to, request.digest, request.offset);
}

Status RelayGuests::give_files(RelayAnswer& to, const wire::RelayRequest& request) {
    auto offset = request.offset;
    for (int i = 0; i < request.count; ++i, offset = 0) {
        const auto id = wire::relay_blob_id(request.first + i);
        if (!store_.knows(id) || offset > store_.size(id)) {
            return ok; // an early end
        }
        if (auto given = give_blob(to, id, offset); !given) {
            return given;
        }
    }
    return ok;
}

Status RelayGuests::give_ahead(RelayAnswer& to) {
    RelayStore::AheadPlace at;
    while (true) {
        while (!store_.wait_ahead(at, beat)) {
            if (auto told = to.beat(); !told) {
                return told;
            }
        }
        const auto bytes = store_.read_ahead(at, given_to_relay_at_once);
        if (bytes.empty()) {
            return ok;
        }
        const wire::RelayPiece piece{.length = static_cast<std::int64_t>(bytes.size()), .file = at.file};
        if (auto said = to.say(wire::to_line(piece) + bytes); !said) {
            return said;
        }
    }
}

Status RelayGuests::give_blob(RelayAnswer& to, const std::string& id, std::int64_t offset) {
    have_fetched_(id);
    const auto size = store_.size(id);
    const int round = store_.round(id);
    while (offset < size) {
        while (!store_.wait(id, offset, round, beat)) {
            if (auto told = to.beat(); !told) {
                return told;
            }
        }
        const auto bytes = store_.read(id, offset, given_to_relay_at_once, round);
        if (bytes.empty()) {
            return Error{ErrorKind::unreachable, "", "no more comes of " + id, ""};
        }
        if (auto said = to.say(bytes); !said) {
            return said;
        }
        offset += static_cast<std::int64_t>(bytes.size());
    }
    return ok;
}

} // namespace dockdist::node
