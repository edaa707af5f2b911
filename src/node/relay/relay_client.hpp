// The talk of a relay with its client: what comes of an image or a tree, and what is asked for.
#pragma once

#include "node/relay/relay_input.hpp"
#include "node/relay/relay_store.hpp"
#include "shared/wire/relay.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
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
    Status keep(RelayStore& store, const std::string& id, std::string_view bytes);

private:
    std::atomic<bool> complained_ = false;
};

class RelayClient {
public:
    RelayClient(RelayStore& store, DiskComplaint& disk, bool tree)
        : store_(store), disk_(disk), tree_(tree) {}

    void tell(const wire::RelayMessage& message);
    // Takes what the client says until it ends, or is none of our protocol.
    void listen(RelayInput& input);

    // Of other threads. Asks the client for a blob or for files and waits until they are whole or nothing
    // more comes. Once for each: of a second try's pieces nobody could tell to which of the two they belong.
    void fetch(const wire::RelayRequest& want);
    // Why that file did not come.
    Error failure(int file);
    // The digest of a file; waits for it. "": it was given up.
    std::string digest_of(int file);
    // The image; nothing where it is not known after so long.
    const wire::RelayImage* wait_for_image(std::chrono::milliseconds limit);

private:
    bool take(RelayInput& input, const wire::RelayPiece& piece);
    bool take_image(const std::string& line);
    bool take_digest(const std::string& line);
    bool is_asked(const std::string& id);
    void failed(const std::string& id, Error error);

    RelayStore& store_;
    DiskComplaint& disk_;
    bool tree_;
    std::mutex output_{}, mutex_{};
    std::condition_variable changed_{};
    std::optional<wire::RelayImage> image_{}; // stays as it is
    std::set<std::string> asked_{};
    std::map<std::string, Error> failed_{};
    std::map<int, std::string> digests_{};
};

} // namespace dockdist::node
