#include "client/image/saved_image.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

constexpr std::size_t most_layers = 1000; // what overlayfs can stack at most is half of that

Error malformed_archive(const std::string& message) {
    return {ErrorKind::protocol, "", "what the engine gave as an image is not one: " + message, ""};
}

} // namespace

Result<SaveManifest> parse_save_manifest(std::string_view json) {
    const auto value = nlohmann::json::parse(json, nullptr, false);
    if (!value.is_array() || value.size() != 1 || !value[0].is_object()) {
        return malformed_archive("manifest.json does not name one image");
    }
    const auto config = value[0].find("Config");
    const auto layers = value[0].find("Layers");
    if (config == value[0].end() || !config->is_string() || layers == value[0].end() || !layers->is_array()) {
        return malformed_archive("manifest.json has no Config or no Layers");
    }
    SaveManifest manifest{.config = config->get<std::string>()};
    for (const auto& layer : *layers) {
        if (!layer.is_string()) {
            return malformed_archive("manifest.json names a layer that is not a string");
        }
        manifest.layers.push_back(layer.get<std::string>());
    }
    if (manifest.layers.size() > most_layers) {
        return malformed_archive(fmt::format("it names {} layers, and no engine takes more than {}",
                                             manifest.layers.size(), most_layers));
    }
    return manifest;
}

Status check_name(std::string_view name, const SavedBlob& blob) {
    constexpr std::string_view blobs = "blobs/sha256/";
    if (name.starts_with(blobs) && blob.digest != fmt::format("sha256:{}", name.substr(blobs.size()))) {
        auto error = malformed_archive(printable(name) + " in it does not match its name");
        error.hint = "is that engine's disk healthy? pull or build the image there again";
        return error;
    }
    return ok;
}

Status check_layers(const SavedImage& image, std::string_view config) {
    const auto value = nlohmann::json::parse(config, nullptr, false);
    const auto* ids = &value;
    for (const char* key : {"rootfs", "diff_ids"}) {
        const auto found = ids->is_object() ? ids->find(key) : ids->end();
        if (!ids->is_object() || found == ids->end()) {
            return malformed_archive("its configuration has no rootfs.diff_ids");
        }
        ids = &*found;
    }
    if (!ids->is_array() || ids->size() != image.layers.size()) {
        return malformed_archive("its configuration names another number of layers");
    }
    for (std::size_t i = 0; i < ids->size(); ++i) {
        // A compressed layer's own digest stands nowhere in the configuration: the engine checks that one.
        const auto& id = (*ids)[i];
        const auto& layer = image.layers[i];
        if (!id.is_string() || (!layer.gzip && !layer.zstd && id.get<std::string>() != layer.digest)) {
            return malformed_archive("a layer does not match its configuration");
        }
    }
    return ok;
}

std::string image_manifest(const SavedImage& image, std::uint64_t config_size) {
    auto layers = nlohmann::json::array();
    for (const auto& layer : image.layers) {
        // For zstd there is no name that all engines know; those that know zstd see it by the bytes.
        layers.push_back({{"mediaType", layer.gzip ? "application/vnd.docker.image.rootfs.diff.tar.gzip"
                                                   : "application/vnd.docker.image.rootfs.diff.tar"},
                          {"size", layer.size},
                          {"digest", layer.digest}});
    }
    return nlohmann::json{{"schemaVersion", 2},
                          {"mediaType", manifest_media_type},
                          {"config",
                           {{"mediaType", "application/vnd.docker.container.image.v1+json"},
                            {"size", config_size},
                            {"digest", image.config.digest}}},
                          {"layers", std::move(layers)}}
        .dump();
}

std::string resolve_in_tar(std::string_view link, std::string_view target) {
    std::vector<std::string> parts;
    if (!target.starts_with('/')) {
        parts = split(link, '/');
        parts.pop_back();
    }
    for (const auto& part : split(target, '/')) {
        if (part == "..") {
            if (parts.empty()) {
                return "";
            }
            parts.pop_back();
        } else if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    std::string path;
    for (const auto& part : parts) {
        path += (path.empty() ? "" : "/") + part;
    }
    return path;
}

} // namespace dockdist
