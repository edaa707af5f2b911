#include "node/relay/relay_client.hpp"

#include "node/relay/tree_files.hpp"
#include "node/system/os.hpp"

#include <algorithm>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t taken_at_once = 256 * 1024;

Error nobody_gives_it() {
    return {ErrorKind::unreachable, "", "nobody provides it any more",
            "run it again: it resumes where it stopped"};
}

std::vector<std::string> ids_of(const wire::RelayRequest& want) {
    if (want.count == 0) {
        return {want.digest};
    }
    std::vector<std::string> ids;
    for (int i = 0; i < want.count; ++i) {
        ids.push_back(wire::relay_blob_id(want.first + i));
    }
    return ids;
}

} // namespace

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

Status DiskComplaint::keep(RelayStore& store, const std::string& id, std::string_view bytes) {
    auto kept = store.append(id, bytes);
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
        if (piece ? !take(input, *piece) : tree_ ? !take_digest(*line) : !take_image(*line)) {
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

bool RelayClient::take_digest(const std::string& line) {
    auto told = wire::parse_relay_digest(line);
    if (!told) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    digests_.insert_or_assign(told->file, std::move(told->digest));
    changed_.notify_all();
    return true;
}

std::string RelayClient::digest_of(int file) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return digests_.contains(file); });
    return digests_.at(file);
}

bool RelayClient::take(RelayInput& input, const wire::RelayPiece& piece) {
    if (piece.digest.empty() && !tree_) {
        return take_ahead(store_, input, piece);
    }
    const auto id = piece.digest.empty() ? wire::relay_blob_id(piece.file) : piece.digest;
    if (!store_.knows(id)) {
        return false;
    }
    if (piece.length == 0) {
        failed(id, nobody_gives_it());
    }
    for (auto left = piece.length; left > 0;) {
        const auto bytes = input.some(std::min(taken_at_once, static_cast<std::size_t>(left)));
        if (bytes.empty()) {
            return false;
        }
        left -= static_cast<std::int64_t>(bytes.size());
        if (!is_asked(id)) {
            continue;
        }
        if (const auto kept = disk_.keep(store_, id, bytes); !kept) {
            failed(id, kept.error());
        }
    }
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return true;
}

void RelayClient::failed(const std::string& id, Error error) {
    const std::lock_guard lock(mutex_);
    failed_.try_emplace(id, std::move(error));
    changed_.notify_all();
}

Error RelayClient::failure(int file) {
    const std::lock_guard lock(mutex_);
    const auto digest = digests_.find(file);
    if (digest != digests_.end() && digest->second.empty()) {
        return file_given_up();
    }
    const auto found = failed_.find(wire::relay_blob_id(file));
    return found == failed_.end() ? nobody_gives_it() : found->second;
}

bool RelayClient::is_asked(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return asked_.contains(id) && !failed_.contains(id);
}

void RelayClient::fetch(const wire::RelayRequest& want) {
    const auto ids = ids_of(want);
    {
        const std::lock_guard lock(mutex_);
        if (asked_.contains(ids.front())) {
            return;
        }
        asked_.insert(ids.begin(), ids.end());
    }
    tell({.type = wire::RelayMessage::Type::want, .want = want});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        return std::ranges::all_of(
            ids, [&](const std::string& id) { return store_.whole(id) || failed_.contains(id); });
    });
}

const wire::RelayImage* RelayClient::wait_for_image(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return image_.has_value(); }) ? &*image_ : nullptr;
}

} // namespace dockdist::node
