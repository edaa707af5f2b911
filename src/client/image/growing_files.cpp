#include "client/image/growing_files.hpp"

#include <algorithm>
#include <fstream>

namespace dockdist {

void GrowingFiles::begin(const std::filesystem::path& path) {
    const std::lock_guard lock(mutex_);
    files_.push_back({path});
}

void GrowingFiles::grow(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    files_.back().size += bytes;
}

std::string GrowingFiles::next(Place& at, std::size_t limit) const {
    File file;
    {
        const std::lock_guard lock(mutex_);
        while (at.file + 1 < files_.size() && at.offset >= files_[at.file].size) {
            at = {at.file + 1, 0};
        }
        if (at.file >= files_.size()) {
            return "";
        }
        file = files_[at.file];
    }
    std::string bytes(std::min<std::uint64_t>(limit, file.size - at.offset), '\0');
    std::ifstream stream(file.path, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at.offset));
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    at.offset += bytes.size();
    return bytes;
}

} // namespace dockdist
