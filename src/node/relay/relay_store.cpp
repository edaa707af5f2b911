// OpenSSL's own words for a hash alone: its newer ones bring a megabyte of providers into a static program.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "node/relay/relay_store.hpp"

#include "core/encode.hpp"
#include "node/system/os.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist::node {

struct RelayStore::Blob {
    std::int64_t size = 0;
    std::int64_t have = 0;
    int round = 0;
    bool fetched = false; // somebody is at it
    bool whole = false;
    Fd file{};
    SHA256_CTX hash{};
    Status write(std::string_view bytes); // behind what is there; `have` is the caller's
    std::string read(std::int64_t offset, std::size_t count) const;
    // With its last byte: whole, or begun anew.
    void finish(const std::string& digest);
};

namespace {

constexpr std::size_t most_files_ahead = 2000; // as many as the client takes out of a tar

std::string digest_of(SHA256_CTX& hash) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    ::SHA256_Final(bytes.data(), &hash);
    return "sha256:" + to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status write_at(int fd, std::string_view bytes, std::int64_t offset) {
    while (!bytes.empty()) {
        const auto count = ::pwrite(fd, bytes.data(), bytes.size(), offset);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return system_error("keep a layer", errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += count;
    }
    return ok;
}

} // namespace

Status RelayStore::Blob::write(std::string_view bytes) {
    auto written = write_at(file.get(), bytes, have);
    if (written) {
        ::SHA256_Update(&hash, bytes.data(), bytes.size());
    }
    return written;
}

std::string RelayStore::Blob::read(std::int64_t offset, std::size_t count) const {
    std::string bytes(count, '\0');
    const auto got = ::pread(file.get(), bytes.data(), bytes.size(), offset);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
}

void RelayStore::Blob::finish(const std::string& digest) {
    whole = digest_of(hash) == digest;
    if (!whole) {
        ::SHA256_Init(&hash);
        have = 0;
        ++round;
    }
}

RelayStore::RelayStore(std::string folder, std::int64_t most_ahead)
    : folder_(std::move(folder)), left_ahead_(most_ahead) {}

std::unique_ptr<RelayStore::Blob> RelayStore::make_blob(const std::string& name) const {
    auto made = std::make_unique<Blob>();
    const auto path = folder_ + "/" + name;
    made->file = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    ::SHA256_Init(&made->hash);
    return made;
}

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
        each = make_blob("ahead-" + std::to_string(file));
    }
    if (!each->write(bytes)) {
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
    auto bytes = found->second->read(at.offset, std::min(limit, left));
    at.offset += static_cast<std::int64_t>(bytes.size());
    return bytes;
}

void RelayStore::set_image(const std::vector<wire::RelayBlob>& blobs) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : blobs) {
        const auto came = ahead_.find(each.file);
        auto made = came != ahead_.end() && came->second->have <= each.size
                        ? std::move(came->second)
                        : make_blob(each.digest.substr(7));
        if (came != ahead_.end()) {
            ahead_.erase(came);
        }
        made->size = each.size;
        if (made->have > 0 && made->have == made->size) {
            made->finish(each.digest);
        }
        blobs_[each.digest] = std::move(made);
    }
    ahead_.clear();
    has_image_ = true;
    changed_.notify_all();
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

Status RelayStore::append(const std::string& digest, std::string_view bytes) {
    auto& each = blob(digest); // of its fetcher alone, but for have, whole and round
    if (static_cast<std::int64_t>(bytes.size()) > each.size - each.have) {
        return Error{ErrorKind::protocol, "", "more came of " + digest + " than there is", ""};
    }
    if (const auto written = each.write(bytes); !written) {
        return written;
    }
    const std::lock_guard lock(mutex_);
    each.have += static_cast<std::int64_t>(bytes.size());
    changed_.notify_all();
    if (each.have < each.size) {
        return ok;
    }
    each.finish(digest);
    if (each.whole) {
        return ok;
    }
    return Error{ErrorKind::protocol, "", "what came of " + digest + " is not what its digest says", ""};
}

bool RelayStore::is_ready(const Blob& blob, std::int64_t offset, int round) {
    return blob.round != round || blob.have > offset || blob.whole || !blob.fetched;
}

bool RelayStore::wait(const std::string& digest, std::int64_t offset, int round,
                      std::chrono::milliseconds limit) {
    const auto& each = blob(digest);
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return is_ready(each, offset, round); });
}

std::string RelayStore::read(const std::string& digest, std::int64_t offset, std::size_t limit, int round) {
    std::int64_t until = 0;
    auto& each = blob(digest);
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_ready(each, offset, round); });
        if (each.round != round) {
            return "";
        }
        until = each.have;
    }
    if (until <= offset) {
        return "";
    }
    return each.read(offset, std::min(limit, static_cast<std::size_t>(until - offset)));
}

} // namespace dockdist::node
