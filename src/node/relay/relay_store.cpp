#include "node/relay/relay_store.hpp"

#include "node/system/os.hpp"
#include "shared/digest/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace dockdist::node {

struct RelayStore::Blob {
    std::int64_t size = 0;
    std::int64_t have = 0;
    std::int64_t read_to = 0; // by whoever is furthest
    int round = 0;
    bool fetched = false; // somebody is at it
    bool whole = false;
    std::shared_ptr<Fd> file{}; // readers have it as long as they read
    Sha256 hash{};

    // What readers may have: its last byte only when all of it has proved right, so that nobody takes for
    // whole what is damaged.
    std::int64_t readable() const {
        return whole ? size : std::min(have, std::max<std::int64_t>(size - 1, 0));
    }
    void keep(BlobFiles::Opened opened) { file = std::make_shared<Fd>(std::move(opened.file)); }
    Status write(std::string_view bytes); // behind what is there; `have` is the caller's
};

namespace {

constexpr std::size_t most_files_ahead = 2000; // as many as the client takes out of a tar
constexpr std::size_t hashed_at_once = 1 << 20;
constexpr std::int64_t most_hashed_ahead = 64 << 20; // while the system still has what was read

Status write_at(int fd, std::string_view bytes, std::int64_t offset) {
    while (!bytes.empty()) {
        const auto count = ::pwrite(fd, bytes.data(), bytes.size(), offset);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return system_error("keep what came", errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += count;
    }
    return ok;
}

std::string read_at(const Fd& file, std::int64_t offset, std::size_t count) {
    std::string bytes(count, '\0');
    const auto got = ::pread(file.get(), bytes.data(), bytes.size(), offset);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
}

} // namespace

Status RelayStore::Blob::write(std::string_view bytes) {
    auto written = write_at(file->get(), bytes, have);
    if (written) {
        hash.add(bytes);
    }
    return written;
}

RelayStore::RelayStore(BlobFiles& files, std::int64_t most_ahead) : files_(files), left_ahead_(most_ahead) {}

bool RelayStore::append_ahead(int file, std::string_view bytes) {
    const std::lock_guard lock(mutex_); // one writer, few readers
    if (has_image_ || (!ahead_.empty() && file < ahead_.rbegin()->first)) {
        return false;
    }
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (size > left_ahead_ || (!ahead_.contains(file) && ahead_.size() >= most_files_ahead)) {
        left_ahead_ = 0; // nor what comes behind this: it would leave a gap
        return false;
    }
    left_ahead_ -= size;
    auto& each = ahead_[file];
    if (!each) {
        each = std::make_unique<Blob>();
        if (auto opened = files_.open("ahead-" + std::to_string(file), true)) {
            each->keep(std::move(*opened));
        }
    }
    if (!each->file || !each->write(bytes)) {
        return false;
    }
    each->have += static_cast<std::int64_t>(bytes.size());
    changed_.notify_all();
    return true;
}

RelayStore::Ahead::const_iterator RelayStore::find_ahead(const AheadPlace& at) const {
    auto found = ahead_.lower_bound(at.file);
    if (found != ahead_.end() && found->first == at.file && found->second->have <= at.offset) {
        ++found; // at its end, if there is a later one
    }
    return found;
}

bool RelayStore::wait_ahead(const AheadPlace& at, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return has_image_ || find_ahead(at) != ahead_.end(); });
}

std::string RelayStore::read_ahead(AheadPlace& at, std::size_t limit) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_image_ || find_ahead(at) != ahead_.end(); });
    if (has_image_) {
        return "";
    }
    const auto found = find_ahead(at);
    if (found->first != at.file) {
        at = {found->first, 0};
    }
    const auto left = static_cast<std::size_t>(found->second->have - at.offset);
    auto bytes = read_at(*found->second->file, at.offset, std::min(limit, left));
    at.offset += static_cast<std::int64_t>(bytes.size());
    return bytes;
}

void RelayStore::set_image(const std::vector<wire::RelayBlob>& blobs) {
    std::unique_lock lock(mutex_);
    for (const auto& each : blobs) {
        const auto came = ahead_.find(each.file);
        const bool fits = came != ahead_.end() && came->second->file && came->second->have <= each.size;
        auto made = fits ? std::move(came->second) : std::make_unique<Blob>();
        if (came != ahead_.end()) {
            ahead_.erase(came);
        }
        made->size = each.size;
        blobs_[each.digest] = std::move(made);
    }
    ahead_.clear();
    has_image_ = true;
    lock.unlock();
    for (const auto& each : blobs) {
        auto& there = blob(each.digest);
        if (there.have > 0 && there.have == there.size && !there.whole) {
            (void)settle(each.digest, there); // else it is fetched
        }
    }
    changed_.notify_all();
}

void RelayStore::add(const std::string& id, std::int64_t size, bool fetched) {
    auto made = std::make_unique<Blob>();
    made->size = size;
    made->fetched = fetched;
    blobs_[id] = std::move(made);
}

bool RelayStore::knows(const std::string& digest) const {
    const std::lock_guard lock(mutex_);
    return blobs_.contains(digest);
}

RelayStore::~RelayStore() = default;

RelayStore::Blob& RelayStore::blob(const std::string& digest) const {
    return *blobs_.at(digest);
}

std::int64_t RelayStore::size(const std::string& digest) const {
    return blob(digest).size;
}

bool RelayStore::claim(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    auto& each = blob(digest);
    if (each.fetched || each.whole) {
        return false;
    }
    each.fetched = true;
    return true;
}

void RelayStore::give_up(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    blob(digest).fetched = false;
    changed_.notify_all();
}

std::int64_t RelayStore::have(const std::string& digest) const {
    const std::lock_guard lock(mutex_);
    return blob(digest).have;
}

bool RelayStore::whole(const std::string& digest) const {
    const std::lock_guard lock(mutex_);
    return blob(digest).whole;
}

int RelayStore::round(const std::string& digest) const {
    const std::lock_guard lock(mutex_);
    return blob(digest).round;
}

Status RelayStore::begin(const std::string& digest, bool anew) {
    auto& each = blob(digest); // of its fetcher alone, but for have, whole, round and file
    if (each.file || each.whole) {
        return ok;
    }
    auto begun = open(digest, each, anew);
    if (!begun && begun.error().kind != ErrorKind::protocol) {
        files_.lost(digest);
    }
    return begun;
}

Status RelayStore::open(const std::string& digest, Blob& blob, bool anew) {
    auto opened = files_.open(digest, anew);
    TRY(opened);
    const auto begun = opened->begun;
    {
        const std::lock_guard lock(mutex_);
        blob.keep(std::move(*opened));
    }
    if (auto hashed = hash_begun(blob, begun); !hashed) {
        return hashed;
    }
    return blob.have == blob.size ? settle(digest, blob) : Status(ok);
}

Status RelayStore::hash_begun(Blob& blob, std::int64_t begun) {
    while (blob.have < begun) {
        const auto bytes = read_at(*blob.file, blob.have,
                                   std::min(hashed_at_once, static_cast<std::size_t>(begun - blob.have)));
        if (bytes.empty()) {
            return Error{ErrorKind::node, "", "a file became shorter while it was read", ""};
        }
        blob.hash.add(bytes);
        bytes_ += static_cast<std::int64_t>(bytes.size());
        std::unique_lock lock(mutex_);
        blob.have += static_cast<std::int64_t>(bytes.size());
        changed_.notify_all();
        if (begun == blob.size) { // who reads it is slower, and may have gone
            changed_.wait_for(lock, std::chrono::seconds(1),
                              [&] { return blob.read_to + most_hashed_ahead >= blob.have; });
        }
    }
    return ok;
}

Status RelayStore::append(const std::string& digest, std::string_view bytes) {
    auto& each = blob(digest); // of its fetcher alone, but for have, whole, round and file
    if (static_cast<std::int64_t>(bytes.size()) > each.size - each.have) {
        return Error{ErrorKind::protocol, "", "more came of " + digest + " than there is", ""};
    }
    if (auto begun = begin(digest); !begun) {
        return begun;
    }
    if (auto written = each.write(bytes); !written) {
        return written;
    }
    bytes_ += static_cast<std::int64_t>(bytes.size());
    {
        const std::lock_guard lock(mutex_);
        each.have += static_cast<std::int64_t>(bytes.size());
        changed_.notify_all();
    }
    return each.have == each.size ? settle(digest, each) : Status(ok);
}

// With its last byte: whole, or begun anew.
Status RelayStore::settle(const std::string& digest, Blob& blob) {
    const auto right = files_.finish(digest, *blob.file, blob.hash.digest());
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    TRY(right);
    if (*right) {
        blob.whole = true;
        if (!files_.keeps_open()) {
            blob.file.reset();
        }
        return ok;
    }
    bytes_ -= blob.have;
    blob.hash = Sha256();
    blob.have = 0;
    ++blob.round;
    return Error{ErrorKind::protocol, "", "what came of " + digest + " does not match its digest",
                 "run it again: it is fetched again"};
}

bool RelayStore::is_ready(const Blob& blob, std::int64_t offset, int round) {
    return blob.round != round || blob.readable() > offset || blob.whole || !blob.fetched;
}

// One that goes on where it was cut off asks for bytes far behind the begin, and waits for their hashing.
void RelayStore::note_reader(Blob& blob, std::int64_t offset) {
    if (blob.read_to < offset) {
        blob.read_to = offset;
        changed_.notify_all();
    }
}

bool RelayStore::wait(const std::string& digest, std::int64_t offset, int round,
                      std::chrono::milliseconds limit) {
    auto& each = blob(digest);
    std::unique_lock lock(mutex_);
    note_reader(each, offset);
    return changed_.wait_for(lock, limit, [&] { return is_ready(each, offset, round); });
}

std::string RelayStore::read(const std::string& digest, std::int64_t offset, std::size_t limit, int round) {
    std::int64_t until = 0;
    std::shared_ptr<Fd> file;
    auto& each = blob(digest);
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_ready(each, offset, round); });
        if (each.round != round) {
            return "";
        }
        until = each.readable();
        file = each.file;
    }
    if (until <= offset) {
        return "";
    }
    if (!file) {
        file = std::make_shared<Fd>(files_.reopen(digest));
    }
    auto bytes = read_at(*file, offset, std::min(limit, static_cast<std::size_t>(until - offset)));
    const std::lock_guard lock(mutex_);
    note_reader(each, offset + static_cast<std::int64_t>(bytes.size()));
    return bytes;
}

} // namespace dockdist::node
