// What an image is built from by a builder that takes a tar: a folder of this machine, without what its
// .dockerignore leaves out. The tar lies in a file without a name and is mapped, so that it takes no memory
// whatever its size.
#pragma once

#include "client/async/task.hpp"
#include "client/image/context_tar.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

class BuildContext {
public:
    // `folder` may be a link, what is below it is taken as it stands: links as links (also those that lead
    // out: the build resolves them in the image), names sorted, modes and times kept, everything owned by
    // root. Devices, sockets and pipes stay behind. `dockerfile` is a name below the folder; it and
    // .dockerignore are sent whatever the rules say. The rules are those of DOCKERFILE.dockerignore, where it
    // is there, and .dockerignore stays behind then. `more` are files beside, for their owner alone. Blocks;
    // `on_progress` is called now and then.
    //
    // Errors: config (no such folder, no Dockerfile, a pattern that is none, a file that cannot be read),
    // internal (the disk here).
    static Result<BuildContext> pack(const std::string& folder, std::string_view dockerfile = "Dockerfile",
                                     const PackProgress& on_progress = {}, const ContextFiles& more = {});
    // The same on a thread of its own, for a coroutine; `on_progress` is called in the coroutine's executor,
    // not after it has ended. Cancelling it ends the thread.
    static Task<Result<BuildContext>> pack_aside(std::string folder, std::string dockerfile,
                                                 std::function<void(PackedSize)> on_progress,
                                                 ContextFiles more = {});
    BuildContext() = default; // of nothing
    BuildContext(BuildContext&& other) noexcept;
    BuildContext& operator=(BuildContext&& other) noexcept;
    BuildContext(const BuildContext&) = delete;
    BuildContext& operator=(const BuildContext&) = delete;
    ~BuildContext();

    std::span<const char> tar() const { return tar_; }
    PackedSize size() const { return size_; }
    const std::string& dockerfile() const { return dockerfile_; } // "docker/Dockerfile", for the engine

    // The first `count` bytes of the tar were sent: their pages may go from this process (they can be read
    // again all the same).
    void let_go(std::uint64_t count);

private:
    void unmap();

    std::span<const char> tar_{};
    PackedSize size_{};
    std::string dockerfile_{};
    std::uint64_t let_go_ = 0;
};

} // namespace dockdist
