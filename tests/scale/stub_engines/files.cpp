// Files that are put into containers.
#include "scale/stub_engines/exchange.hpp"

#include <algorithm>

namespace dockdist::scale {

// Files go into volumes alone, before the container has run: dockdist puts none elsewhere.
Task<bool> handle_files(Exchange x) {
    if (x.request.call != "PUT /containers/X/archive") {
        co_return false;
    }
    StoredTars::Arriving arriving(x.world.tars);
    if (!co_await x.connection->read_body(x.request, [&](std::string_view bytes) { arriving.take(bytes); })) {
        co_return true;
    }
    const auto container = x.host.find(x.request.item);
    if (!container) {
        co_await x.fail(404, "No such container: " + x.request.item);
        co_return true;
    }
    const auto path = x.request.get("path");
    const auto mount = std::ranges::find(container->mounts, path, &SandboxMount::target);
    if (mount == container->mounts.end() || mount->source.empty()) {
        co_await x.fail(404, "Could not find the file " + path + " in container " + container->id);
        co_return true;
    }
    const auto tar = co_await x.world.tars.store(std::move(arriving));
    if (!tar) {
        co_await x.fail(500, "Error processing tar file(exit status 1): archive/tar: invalid tar header");
        co_return true;
    }
    for (auto& [name, volume] : x.host.volumes) {
        if (volume.folder == mount->source) {
            volume.folder = tar->folder; // the same for all that got the same
        }
    }
    mount->source = tar->folder;
    co_await x.answer(200);
    co_return true;
}

} // namespace dockdist::scale
