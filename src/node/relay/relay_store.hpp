// The blobs of a relay: each grows from its begin to its end in a file, is read while it grows, and is whole
// only when its digest is right. One that is here from an earlier time grows as well: as its bytes are
// hashed. Before an image is known its files may come ahead, in the order of its tar; those that prove to
// be blobs of it are kept, whole or begun. Safe to use from many threads.
#pragma once

#include "node/relay/blob_files.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/relay.hpp"

#include <atomic>
#include <chrono>
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
    // `files` outlives it. `most_ahead`: bytes that are taken before the image is known.
    RelayStore(BlobFiles& files, std::int64_t most_ahead);
    ~RelayStore();
    RelayStore(const RelayStore&) = delete;
    RelayStore& operator=(const RelayStore&) = delete;

    // --- before the image is known ---

    // Behind what came of `file`, which is the last one or a later one. False: it is not taken, because the
    // image is known by now, the order is another, it is too much, or the disk is full.
    bool append_ahead(int file, std::string_view bytes);
    // What comes next behind `at`, at most `limit` bytes, and moves `at`; waits for it. "" when the image is
    // known.
    struct AheadPlace {
        int file = 0;
        std::int64_t offset = 0;
    };
    std::string read_ahead(AheadPlace& at, std::size_t limit);
    // False: for so long read_ahead() would have waited.
    bool wait_ahead(const AheadPlace& at, std::chrono::milliseconds limit);
    // Once.
    void set_image(const std::vector<wire::RelayBlob>& blobs);

    // --- before all others: of a tree ---

    // `fetched`: it is claimed from the first on.
    void add(const std::string& id, std::int64_t size, bool fetched);

    // --- the blobs; of those that knows() knows ---

    bool knows(const std::string& digest) const;
    std::int64_t size(const std::string& digest) const;

    // True for the one caller that is to fetch it now: nobody else does, and it is not whole.
    bool claim(const std::string& digest);
    // Ends a claim. Readers of a blob that is not whole are told that no more comes.
    void give_up(const std::string& digest);

    // Opens it for append(), unless that was done; what is there of it is hashed first, no further ahead of
    // who reads it than a little. `anew`: nothing is kept of an earlier time. Errors: of its file; those of
    // append() where all of it is there.
    Status begin(const std::string& digest, bool anew = false);
    // Where the next bytes belong.
    std::int64_t have(const std::string& digest) const;
    // Errors: protocol (more than its size, or the last byte is there and the digest is wrong: the blob
    // begins anew), else for good (the disk).
    Status append(const std::string& digest, std::string_view bytes);
    bool whole(const std::string& digest) const;

    // At most `limit` bytes from `offset`, waiting for them; "" when no more comes or what was read before
    // proved to be damaged (`round` tells one try from the next, see round()).
    std::string read(const std::string& digest, std::int64_t offset, std::size_t limit, int round);
    int round(const std::string& digest) const;
    // False: for so long read() would have waited.
    bool wait(const std::string& digest, std::int64_t offset, int round, std::chrono::milliseconds limit);

    // Bytes that are here of all blobs.
    std::int64_t bytes() const { return bytes_; }

private:
    struct Blob;
    Blob& blob(const std::string& digest) const;
    Status open(const std::string& digest, Blob& blob, bool anew);
    Status hash_begun(Blob& blob, std::int64_t begun);
    Status settle(const std::string& digest, Blob& blob);
    // Of a reader that holds the lock.
    using Ahead = std::map<int, std::unique_ptr<Blob>>;
    Ahead::const_iterator find_ahead(const AheadPlace& at) const;
    void note_reader(Blob& blob, std::int64_t offset);
    static bool is_ready(const Blob& blob, std::int64_t offset, int round);

    BlobFiles& files_;
    std::int64_t left_ahead_; // bytes
    std::atomic<std::int64_t> bytes_ = 0;
    mutable std::mutex mutex_{};
    std::condition_variable changed_{};
    Ahead ahead_{};
    std::map<std::string, std::unique_ptr<Blob>> blobs_{}; // the same ones from set_image() on
    bool has_image_ = false;
};

} // namespace dockdist::node
