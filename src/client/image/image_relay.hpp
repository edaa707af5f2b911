// The relay that brings an image to one host, as the client sees it: what it is given, and the pull of the
// host's engine from it.
#pragma once

#include "client/async/async_event.hpp"
#include "client/image/image_spool.hpp"
#include "client/relay/relay_host.hpp"
#include "client/report/step.hpp"

#include <optional>
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

    // Lets the engine pull from the relay, looks at what it has then, and gives it its name. Well, but
    // without the image, where must_load() then.
    Task<Status> pull(const ImageRef& ref, const std::vector<std::string>& layers, Reporter& reporter);
    // The engine takes no image over plain HTTP, not even from its own loopback. The relays behind this one
    // are served all the same.
    bool must_load() const { return must_load_; }
    // Gives the engine the image from here, after such a pull(): under its own name, so that nothing else is
    // left of a load that the engine ends although nobody waits for it.
    Task<Status> load(const ImageRef& ref, const std::vector<std::string>& layers);

    // The container, and the name that the image had on its way; safe whatever came of the rest.
    Task<Status> clean_up();

private:
    Task<Status> pull_from_relay(std::string login);
    Task<Status> look_at(const ImageRef& ref, const std::vector<std::string>& layers);
    Task<Status> give(const wire::RelayRequest& wanted);
    Error why_not(const ImageRef& ref, Error error);
    Error failed(Error error); // the step too

    std::string token_;
    std::int64_t most_ahead_;
    const ImageSpool* spool_ = nullptr;
    bool giving_ = false; // a write is under way
    bool ended_ = false;
    bool must_load_ = false;
    ImageRef passing_name_{}; // set: the engine may have something of that name
    std::optional<Step> step_{};
};

// What is to be told of hosts that must load: their names, and what it costs. `size`: of what each loads.
Error load_notice(const std::vector<std::string>& hosts, bool only_podman, std::uint64_t size);
inline constexpr std::size_t most_loads = 2; // at once, of one run: they share this machine's link

// Whether that is why a pull failed.
bool needs_tls(std::string_view pull_error);

} // namespace dockdist
