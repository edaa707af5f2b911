// The blobs of an image relay: each grows from its begin to its end in a file, is read while it grows, and is
// whole only when its digest is right. Safe to use from many threads.
#pragma once

#include "core/result.hpp"
#include "wire/image_relay.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

class RelayStore {
public:
    // Files in `folder`, which is there.
    RelayStore(std::string folder, const std::vector<wire::RelayBlob>& blobs);
    ~RelayStore();
    RelayStore(const RelayStore&) = delete;
    RelayStore& operator=(const RelayStore&) = delete;

    bool knows(const std::string& digest) const { return blobs_.contains(digest); }
    std::int64_t size(const std::string& digest) const;

    // True for the one caller that is to fetch it now: nobody else does, and it is not whole.
    bool claim(const std::string& digest);
    // Ends a claim. Readers of a blob that is not whole are told that no more comes.
    void give_up(const std::string& digest);

    // Where the next bytes belong.
    std::int64_t have(const std::string& digest) const;
    // Errors: protocol (more than its size, or the last byte is there and the digest is wrong: the blob
    // begins anew), internal (the disk).
    Status append(const std::string& digest, std::string_view bytes);
    bool whole(const std::string& digest) const;
    // Waits until `digest` grew beyond `from`, is whole, or lost its fetcher.
    void wait(const std::string& digest, std::int64_t from);

    // At most `limit` bytes from `offset`, waiting for them; "" when no more comes or what was read before
    // proved to be damaged (`round` tells one try from the next, see round()).
    std::string read(const std::string& digest, std::int64_t offset, std::size_t limit, int round);
    int round(const std::string& digest) const;

private:
    struct Blob;
    Blob& blob(const std::string& digest) const;

    mutable std::mutex mutex_{};
    std::condition_variable changed_{};
    std::map<std::string, std::unique_ptr<Blob>> blobs_{};
};

} // namespace dockdist::node
