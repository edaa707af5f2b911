#include "node/relay/relay_client.hpp"

#include "node/system/os.hpp"

#include <algorithm>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t taken_at_once = 256 * 1024;

}

bool take_ahead(RelayStore& store, RelayInput& from, const wire::RelayPiece& piece) {
    for (auto left = piece.length; left > 0;) {
        const auto bytes = from.some(std::min(taken_at_once, static_cast<std::size_t>(left)));
        if (bytes.empty()) {
            return false;
        }
        left -= static_cast<std::int64_t>(bytes.size());
        (void)store.append_ahead(piece.file, bytes); // else it is fetched when the engine asks for it
    }
    return true;
}

Status DiskComplaint::keep(RelayStore& store, const std::string& digest, std::string_view bytes) {
    auto kept = store.append(digest, bytes);
    if (!kept && kept.error().kind != ErrorKind::protocol && !complained_.exchange(true)) {
        (void)write_all(STDERR_FILENO, kept.error().message + "\n");
    }
    return kept;
}

void RelayClient::tell(const wire::RelayMessage& message) {
    const std::lock_guard lock(output_);
    (void)write_all(STDOUT_FILENO, wire::to_line(message));
}

void RelayClient::listen(RelayInput& input) {
    while (const auto line = input.line()) {
        const auto piece = wire::parse_relay_piece(*line);
        if (piece ? !take(input, *piece) : !take_image(*line)) {
            return;
        }
    }
}

bool RelayClient::take_image(const std::string& line) {
    auto image = wire::parse_relay_image(line);
    const std::lock_guard lock(mutex_);
    if (!image || image_) {
        return false;
    }
    image_ = std::move(*image);
    store_.set_image(image_->blobs);
    changed_.notify_all();
    return true;
}

bool RelayClient::take(RelayInput& input, const wire::RelayPiece& piece) {
    if (piece.digest.empty()) {
        return take_ahead(store_, input, piece);
    }
    if (!store_.knows(piece.digest)) {
        return false;
    }
    if (piece.length == 0) {
        failed(piece.digest);
    }
    for (auto left = piece.length; left > 0;) {
        const auto bytes = input.some(std::min(taken_at_once, static_cast<std::size_t>(left)));
        if (bytes.empty()) {
            return false;
        }
        left -= static_cast<std::int64_t>(bytes.size());
        if (is_asked(piece.digest) && !disk_.keep(store_, piece.digest, bytes)) {
            failed(piece.digest);
        }
    }
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return true;
}

void RelayClient::failed(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    failed_.insert(digest);
    changed_.notify_all();
}

bool RelayClient::is_asked(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    return asked_.contains(digest) && !failed_.contains(digest);
}

void RelayClient::fetch(const std::string& digest) {
    {
        const std::lock_guard lock(mutex_);
        if (!asked_.insert(digest).second) {
            return;
        }
    }
    tell({.type = wire::RelayMessage::Type::want, .digest = digest, .offset = store_.have(digest)});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return store_.whole(digest) || failed_.contains(digest); });
}

const wire::RelayImage* RelayClient::wait_for_image(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return image_.has_value(); }) ? &*image_ : nullptr;
}

} // namespace dockdist::node
