// An image from one engine to hosts, with no registry: this machine reads it once and gives it to the first
// host; each host hands it on to the next while it arrives, and its engine pulls it from there. A host that
// drops out is passed over. Engines fetch no layer that they have from an earlier time, and take nothing
// whose digest is wrong.
#pragma once

#include "client/image/image_relay.hpp"
#include "client/observe/observe.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dockdist {

struct ImageSource {
    ContainerEngine* engine = nullptr;
    std::string name{}; // "this machine", or a host's name
    ImageDetails image{};
};

struct SendSetting {
    ImageRef ref{};
    ImageSource source{};
    std::vector<std::size_t> hosts{}; // to these, in this order
    Toolkits toolkits{};
    std::string attempt{}; // unique to this run
    std::string origin{};  // USER@MACHINE:FILE
};

// Errors name their hosts; the others have the image then. Nothing is left on a host but the image.
Task<Errors> send_image(const ClusterSpec& spec, const Engines& engines, SendSetting setting,
                        Reporter& reporter);

// Looks at the image where it is to come from. Errors: not_found, with what to do.
Task<Result<ImageSource>> find_image_source(ContainerEngine& engine, std::string name, ImageRef ref);

} // namespace dockdist
