// The talk of a relay with its client: what comes of the image, and what is asked for.
#pragma once

#include "node/relay/relay_input.hpp"
#include "node/relay/relay_store.hpp"
#include "wire/image_relay.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dockdist::node {

// The bytes of a piece that came ahead, out of what stands behind it. False: nothing comes any more.
bool take_ahead(RelayStore& store, RelayInput& from, const wire::RelayPiece& piece);

// What the engine is not told, and the client shows: this host's disk. Once.
class DiskComplaint {
public:
    Status keep(RelayStore& store, const std::string& digest, std::string_view bytes);

private:
    std::atomic<bool> complained_ = false;
};

class RelayClient {
public:
    RelayClient(RelayStore& store, DiskComplaint& disk) : store_(store), disk_(disk) {}

    void tell(const wire::RelayMessage& message);
    // Takes what the client says until it ends, or is none of our protocol.
    void listen(RelayInput& input);

    // Of other threads. Asks the client for the blob and waits until it is whole or nothing more comes. Once
    // for each blob: of a second try's pieces nobody could tell to which of the two they belong.
    void fetch(const std::string& digest);
    // The image; nothing where it is not known after so long.
    const wire::RelayImage* wait_for_image(std::chrono::milliseconds limit);

private:
    bool take(RelayInput& input, const wire::RelayPiece& piece);
    bool take_image(const std::string& line);
    bool is_asked(const std::string& digest);
    void failed(const std::string& digest);

    RelayStore& store_;
    DiskComplaint& disk_;
    std::mutex output_{}, mutex_{};
    std::condition_variable changed_{};
    std::optional<wire::RelayImage> image_{}; // stays as it is
    std::set<std::string> asked_{}, failed_{};
};

} // namespace dockdist::node
