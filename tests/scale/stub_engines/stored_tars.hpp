// The tars that clients send. What a thousand hosts get is the same again and again: it is compared while it
// comes, byte for byte, and kept once, unpacked once. Sent bytes are sent bytes all the same, and counted.
#pragma once

#include "client/async/task.hpp"
#include "scale/stub_engines/processes.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::scale {

struct StoredTar {
    std::string bytes{};
    bool whole = false; // an upload has ended here: from then on it does not grow
    std::string folder{};
    std::string digest{}; // "sha256:…" of the tar itself, which may have come compressed
    std::shared_ptr<Process> unpacking{};
};

class StoredTars {
public:
    StoredTars(Processes& processes, std::string folder)
        : processes_(processes), folder_(std::move(folder)) {}

    // One upload. It shares its bytes with whatever begins the same, for as long as that is so; whoever is
    // ahead makes it grow.
    class Arriving {
    public:
        explicit Arriving(StoredTars& store) : store_(store) {}
        void take(std::string_view bytes);

    private:
        friend class StoredTars;
        void part();
        StoredTars& store_;
        std::shared_ptr<StoredTar> tar_{};
        std::size_t count_ = 0;
    };
    // Unpacked, as soon as it is; nothing when it is no tar.
    Task<std::shared_ptr<StoredTar>> store(Arriving arriving);

private:
    // Once a digest: what is unpacked runs already in the containers of those that had the same tar sooner,
    // compressed, or cut into other pieces.
    std::shared_ptr<Process> unpack(const StoredTar& tar);
    Processes& processes_;
    std::string folder_;
    std::vector<std::shared_ptr<StoredTar>> tars_{};
};

} // namespace dockdist::scale
