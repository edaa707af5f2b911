#include "client/image/image_archive.hpp"

#include "shared/core/ustar.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

constexpr std::size_t archive_piece = 256 * 1024;

std::string hex_of(const std::string& digest) {
    return digest.substr(digest.find(':') + 1);
}

UstarEntry ustar_entry(const std::string& name, std::uint64_t size) {
    return {.name = name, .mode = 0644, .size = static_cast<std::int64_t>(size)};
}

} // namespace

ImageArchive::ImageArchive(const ImageSpool& spool, const std::string& name) {
    const auto& image = spool.image();
    const auto config = hex_of(image.config.digest) + ".json";
    auto layers = nlohmann::json::array();
    for (const auto& layer : image.layers) {
        layers.push_back(hex_of(layer.digest) + ".tar");
    }
    const auto manifest = nlohmann::json::array({{{"Config", config},
                                                  {"RepoTags", nlohmann::json::array({name})},
                                                  {"Layers", std::move(layers)}}})
                              .dump();
    const auto head = ustar_entry("manifest.json", manifest.size());
    add(ustar_header(head) + manifest + ustar_padding(head));
    add_file(config, image.config.path, image.config.size);
    std::set<std::string> there; // a layer may stand twice in an image
    for (const auto& layer : image.layers) {
        if (there.insert(layer.digest).second) {
            add_file(hex_of(layer.digest) + ".tar", layer.path, layer.size);
        }
    }
    add(ustar_end());
}

void ImageArchive::add(std::string bytes) {
    size_ += bytes.size();
    const auto size = bytes.size();
    parts_.push_back({.bytes = std::move(bytes), .size = size});
}

void ImageArchive::add_file(const std::string& name, const std::string& path, std::uint64_t size) {
    const auto entry = ustar_entry(name, size);
    add(ustar_header(entry));
    parts_.push_back({.path = path, .size = size});
    size_ += size;
    add(ustar_padding(entry));
}

Task<Result<std::string>> ImageArchive::read() {
    while (part_ < parts_.size() && given_ == parts_[part_].size) {
        ++part_;
        given_ = 0;
    }
    if (part_ == parts_.size()) {
        co_return std::string();
    }
    auto& part = parts_[part_];
    if (part.path.empty()) {
        given_ = part.size;
        co_return part.bytes;
    }
    if (given_ == 0) {
        file_ = std::ifstream(part.path, std::ios::binary);
    }
    std::string bytes(std::min<std::uint64_t>(archive_piece, part.size - given_), '\0');
    if (!file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
        co_return Error{ErrorKind::internal, part.path, "a file of the image is gone from this machine", ""};
    }
    given_ += bytes.size();
    co_return bytes;
}

} // namespace dockdist
