// Brings the toolkit to hosts that lack it, into the volume of its version: from here to one or two; of more,
// hosts hand it on (client/relay/hand_on.hpp) as an image, out of which a container copies it into the
// volume.
#pragma once

#include "client/async/async_event.hpp"
#include "client/cluster/up.hpp"
#include "client/plan/plan.hpp"
#include "client/relay/hand_on.hpp"
#include "client/report/step.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dockdist {

// Its name on a host as long as it is an image there.
std::string toolkit_image(const std::string& version);

class ToolkitBringer {
public:
    ToolkitBringer(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits,
                   Reporter& reporter)
        : spec_(spec), engines_(engines), toolkits_(toolkits), reporter_(reporter) {}

    // These hosts are about to be brought it, side by side.
    void expect(const std::vector<UploadToolkit>& uploads);
    // To one of them. Where two entries of the file are one engine, one brings it and the other waits for
    // that.
    Task<Status> bring(UploadToolkit upload);
    // Takes away what the hosts have of it but the volume; also after a cancellation.
    Task<void> end();

    // From this machine, whatever others have.
    Task<Status> upload(UploadToolkit upload);

private:
    using Brought = Result<bool>; // false: another entry of the file is the same engine, and brings it

    Task<Status> until_there(Task<Brought> work);
    Task<Brought> bring_there(UploadToolkit upload);
    Task<Brought> upload_there(UploadToolkit upload);
    Task<bool> fetch(const UploadToolkit& upload, Step& step);
    Task<Result<ContainerId>> create(const UploadToolkit& upload, ContainerConfig config, Step& step);
    Task<Brought> unpack(const UploadToolkit& upload, Step& step);
    Task<Brought> put(const UploadToolkit& upload, Step& step);
    HandOn* hand_on_of(const UploadToolkit& upload) const; // nullptr: from here
    std::span<const char> tar_of(const UploadToolkit& upload) const;
    void add_giver(const UploadToolkit& upload, const ContainerId& container);
    Task<Status> clear(std::size_t host);

    const ClusterSpec& spec_;
    const Engines& engines_;
    const Toolkits& toolkits_;
    Reporter& reporter_;
    std::map<std::string, std::unique_ptr<HandOn>> hand_on_{}; // by architecture, where hosts are many
    std::map<std::size_t, ImageRef> images_{};                 // hosts where the image may be
    std::map<std::size_t, ContainerId> containers_{};          // what end() removes
    std::size_t working_ = 0;                                  // hosts where it is on its way
    std::unique_ptr<AsyncEvent> done_{};                       // once somebody waits for them
};

} // namespace dockdist
