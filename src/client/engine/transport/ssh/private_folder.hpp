// A folder for sockets that is the user's alone: in $XDG_RUNTIME_DIR, or else in $TMPDIR or /tmp. It goes
// with its owner; what a client that was killed has left goes with the next one that is made.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace dockdist {

class PrivateFolder {
public:
    static Result<PrivateFolder> make(); // errors: internal
    PrivateFolder() = default;           // Result wants it
    PrivateFolder(PrivateFolder&& other) noexcept
        : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    ~PrivateFolder();

    const std::string& path() const { return path_; }

private:
    std::string path_{}; // empty: moved away
    Fd lock_{};
};

} // namespace dockdist
