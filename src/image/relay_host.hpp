// The image relay of one host, as the client sees it: its container, the talk with it, and the pull of the
// host's engine from it.
#pragma once

#include "async/async_event.hpp"
#include "container/exec_command.hpp"
#include "image/image_spool.hpp"
#include "plan/labels.hpp"
#include "report/step.hpp"
#include "wire/image_relay.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist {

inline constexpr int relay_account = 65534;           // nobody: user and group
inline constexpr const char* relay_folder = "/blobs"; // theirs, in the relay's image: so the volume there is

struct RelaySetting {
    std::string container{};     // name
    Labels labels{};             // of the container
    ImageRef image{};            // of the relay itself: "dockdist-relay:VERSION"
    std::span<const char> tar{}; // what that image is made of where the host lacks it
    std::string token{};         // 64 hex digits, of this relay alone: its engine's login
    std::string address{};       // of the host, as its peers know it
    std::int64_t most_ahead = 0; // bytes that may come before it is known what the image is
};

class RelayHost {
public:
    RelayHost(ContainerEngine& engine, std::string host, RelaySetting setting)
        : engine_(engine), host_(std::move(host)), setting_(std::move(setting)) {}

    // The relay in its container; then `listening` is known.
    Task<Status> start();
    const wire::RelayMessage& listening() const { return listening_; }
    Task<Status> set_peers(wire::RelayPeers peers);

    // While the image is being read: gives the relay what is there of it. `read` is notified when there is
    // more, and set at the end.
    Task<Status> give_ahead(const GrowingFiles& growing, AsyncEvent& read);
    // What it is; after start(). `spool` outlives this.
    Task<Status> tell_image(const ImageSpool& spool);

    // Gives the relay what it asks the client for, until the relay has ended or end() was called.
    Task<Status> serve();
    // No more is wanted from the relay.
    Task<void> end();

    // Lets the engine pull from the relay, looks at what it has then, and gives it its name.
    Task<Status> pull(const ImageRef& ref, const std::vector<std::string>& layers, Reporter& reporter);

    // The container and the relay's image; safe whatever came of the rest.
    Task<Status> remove();

    const std::string& host() const { return host_; }

private:
    Task<Status> make_container();
    Task<Status> find_container();
    Task<Status> give(const wire::RelayMessage& wanted);

    ContainerEngine& engine_;
    std::string host_;
    RelaySetting setting_;
    const ImageSpool* spool_ = nullptr;
    ContainerId container_{};
    bool may_be_there_ = false; // a create whose answer did not come
    std::unique_ptr<ExecLines> lines_{};
    wire::RelayMessage listening_{};
    bool giving_ = false; // a write is under way
    bool ended_ = false;
};

} // namespace dockdist
