// The relay that brings an image to one host, as the client sees it: what it is given, and the pull of the
// host's engine from it.
#pragma once

#include "async/async_event.hpp"
#include "image/image_spool.hpp"
#include "relay/relay_host.hpp"
#include "report/step.hpp"

#include <string>
#include <vector>

namespace dockdist {

class ImageRelay : public RelayHost {
public:
    // `token`: 64 hex digits, of this relay alone: its engine's login. `most_ahead`: bytes that may come
    // before it is known what the image is.
    ImageRelay(ContainerEngine& engine, std::string host, RelaySetting setting, std::string token,
               std::int64_t most_ahead)
        : RelayHost(engine, std::move(host), std::move(setting)), token_(std::move(token)),
          most_ahead_(most_ahead) {}

    // The relay in its container; then `listening` is known.
    Task<Status> start();

    // While the image is being read: gives the relay what is there of it. `read` is notified when there is
    // more, and set at the end.
    Task<Status> give_ahead(const GrowingFiles& growing, AsyncEvent& read);
    // What it is; after start(). `spool` outlives this.
    Task<Status> tell_image(const ImageSpool& spool);

    // Gives the relay what it asks the client for, until the relay has ended or end() was called.
    Task<Status> serve();
    // No more is wanted from the relay.
    Task<void> end();

    // Lets the engine pull from the relay, looks at what it has then, and gives it its name. An engine that
    // takes no image over plain HTTP even from its own loopback gets it from here: the relays behind this one
    // are served all the same.
    Task<Status> pull(const ImageRef& ref, const std::vector<std::string>& layers, Reporter& reporter);

private:
    Task<Status> pull_from_relay(ImageRef from, std::string login, Step& step);
    Task<Status> load_from_here(std::string name, Step& step, Reporter& reporter);
    Task<Status> give(const wire::RelayRequest& wanted);

    std::string token_;
    std::int64_t most_ahead_;
    const ImageSpool* spool_ = nullptr;
    bool giving_ = false; // a write is under way
    bool ended_ = false;
};

// Whether that is why a pull failed.
bool needs_tls(std::string_view pull_error);

} // namespace dockdist
