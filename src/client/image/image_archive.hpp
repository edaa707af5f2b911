// An image as a tar that every engine loads: manifest.json, the configuration and the layers, as `docker
// save` wrote it before it wrote OCI layouts too. Made of a spool's files while it is read.
#pragma once

#include "client/image/image_spool.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace dockdist {

class ImageArchive final : public ByteSource {
public:
    // `name`, a full one with its tag, is what the image is called once it is loaded. `spool` outlives this.
    ImageArchive(const ImageSpool& spool, const std::string& name);

    std::uint64_t size() const { return size_; } // bytes of the tar
    Task<Result<std::string>> read() override;   // errors: internal (a file of the spool is gone)

private:
    struct Part {
        std::string bytes{};    // what the tar says itself, or
        std::string path{};     // the file whose bytes stand here
        std::uint64_t size = 0; // of either
    };
    void add(std::string bytes);
    void add_file(const std::string& name, const std::string& path, std::uint64_t size);

    std::vector<Part> parts_{};
    std::uint64_t size_ = 0;
    std::size_t part_ = 0;    // that comes next
    std::uint64_t given_ = 0; // bytes of it
    std::ifstream file_{};
};

} // namespace dockdist
