#include "scale/stub_engines/stored_tars.hpp"

#include "shared/digest/sha256.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace dockdist::scale {
namespace {

// Of the tar, whether it came compressed or as it is: so engines name layers.
std::string digest_of_tar(const std::string& bytes) {
    const std::unique_ptr<archive, int (*)(archive*)> reader(::archive_read_new(), ::archive_read_free);
    ::archive_read_support_filter_gzip(reader.get());
    ::archive_read_support_format_raw(reader.get());
    Sha256 sum;
    archive_entry* entry = nullptr;
    std::array<char, 65536> piece{};
    la_ssize_t count = 0;
    if (::archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) == ARCHIVE_OK &&
        ::archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
        while ((count = ::archive_read_data(reader.get(), piece.data(), piece.size())) > 0) {
            sum.add({piece.data(), static_cast<std::size_t>(count)});
        }
    }
    return sum.digest();
}

} // namespace

void StoredTars::Arriving::part() {
    auto own = std::make_shared<StoredTar>();
    if (tar_) {
        own->bytes = tar_->bytes.substr(0, count_);
    }
    tar_ = own;
    store_.tars_.push_back(own);
}

void StoredTars::Arriving::take(std::string_view bytes) {
    if (count_ == 0) {
        const auto found = std::ranges::find_if(
            store_.tars_, [&](const auto& tar) { return tar->bytes.starts_with(bytes); });
        tar_ = found == store_.tars_.end() ? nullptr : *found;
    }
    const auto there = tar_ ? std::string_view(tar_->bytes).substr(count_, bytes.size()) : std::string_view();
    if (!tar_ || !bytes.starts_with(there) || (there.size() < bytes.size() && tar_->whole)) {
        part();
        tar_->bytes += bytes;
    } else {
        tar_->bytes += bytes.substr(there.size());
    }
    count_ += bytes.size();
}

std::shared_ptr<Process> StoredTars::unpack(const StoredTar& tar) {
    std::filesystem::create_directories(tar.folder);
    std::ofstream(tar.folder + ".tar", std::ios::binary) << tar.bytes;
    return processes_.start({"tar", "--numeric-owner", "-xpf", tar.folder + ".tar", "-C", tar.folder});
}

Task<std::shared_ptr<StoredTar>> StoredTars::store(Arriving arriving) {
    if (!arriving.tar_ || arriving.tar_->bytes.size() != arriving.count_) {
        arriving.part(); // another one has gone on where this one ends
    }
    const auto tar = arriving.tar_;
    if (!std::exchange(tar->whole, true)) {
        tar->digest = digest_of_tar(tar->bytes);
        tar->folder = folder_ + "/" + tar->digest.substr(7);
        const auto same = std::ranges::find_if(
            tars_, [&](const auto& other) { return other->unpacking && other->digest == tar->digest; });
        tar->unpacking = same != tars_.end() ? (*same)->unpacking : unpack(*tar);
    }
    const auto unpacking = tar->unpacking;
    co_await unpacking->ended.wait();
    co_return unpacking->exit_code == 0 ? tar : nullptr;
}

} // namespace dockdist::scale
