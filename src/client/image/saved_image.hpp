// An image as `docker save` writes it, and the registry manifest that says the same. Pure.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// One file of the tar.
struct SavedBlob {
    std::string digest{}; // "sha256:…" of its bytes
    std::uint64_t size = 0;
    bool gzip = false, zstd = false; // a layer as a registry had it, which containerd's image store keeps
    std::string path{};              // where it is kept on this machine
    int file = -1;                   // which one of the tar's regular files it is, from 0
};

struct SavedImage {
    SavedBlob config{};
    std::vector<SavedBlob> layers{}; // lowest first
};

// The image's one entry of manifest.json: names of files in the tar.
struct SaveManifest {
    std::string config{};
    std::vector<std::string> layers{};
};
Result<SaveManifest> parse_save_manifest(std::string_view json); // errors: protocol

// Whether a file that the tar names by a digest ("blobs/sha256/…", as an OCI layout has it) has that one;
// others are well. Of a compressed layer it is all that tells. Errors: protocol.
Status check_name(std::string_view name, const SavedBlob& blob);

// Whether the layers are those that the image's configuration names; else ErrorKind::protocol.
Status check_layers(const SavedImage& image, std::string_view config);

inline constexpr std::string_view manifest_media_type =
    "application/vnd.docker.distribution.manifest.v2+json";
std::string image_manifest(const SavedImage& image, std::uint64_t config_size);

// "a/b/layer.tar" and "../c/layer.tar": "a/c/layer.tar". Empty when it leads out of the tar.
std::string resolve_in_tar(std::string_view link, std::string_view target);

} // namespace dockdist
