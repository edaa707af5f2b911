// An image on its way: read from an engine once, kept in files on this machine's disk until it is handed on.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/image/growing_files.hpp"
#include "client/image/saved_image.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dockdist {

// Destroying it removes the files.
class ImageSpool {
public:
    // In a folder of its own below $TMPDIR, else /var/tmp. `on_progress` is told the bytes that have come.
    // Errors: the engine's; internal (the disk); protocol (no image, or one whose description is larger than
    // 4 MiB). The tar is taken apart on a thread;
    // `growing` outlives the task, and its files are there until the spool or the task goes.
    static Task<Result<std::unique_ptr<ImageSpool>>> fill(ContainerEngine& from, ImageRef ref,
                                                          std::function<void(std::uint64_t)> on_progress,
                                                          GrowingFiles& growing);
    ImageSpool(const ImageSpool&) = delete;
    ImageSpool& operator=(const ImageSpool&) = delete;
    ~ImageSpool();

    const SavedImage& image() const { return image_; }
    const std::string& manifest() const { return manifest_; }
    std::string manifest_digest() const;
    // Each digest once, with the file that holds it.
    const std::map<std::string, SavedBlob>& blobs() const { return blobs_; }

private:
    ImageSpool() = default;
    Status finish(const ImageRef& ref, std::map<std::string, SavedBlob> files);

    std::filesystem::path folder_{};
    SavedImage image_{};
    std::string manifest_{};
    std::map<std::string, SavedBlob> blobs_{};
};

} // namespace dockdist
