// Ports forwarded to one node, for the commands that do so.
#pragma once

#include "async/cleanup.hpp"
#include "cli/context.hpp"
#include "forward/forwarder.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dockdist {

// Errors (usage): each text that is none, and a local port that is asked for twice; `option` is their where.
struct ForwardPorts {
    std::vector<ForwardPort> ports{};
    Errors errors{};
};
ForwardPorts parse_forward_ports(const std::vector<std::string>& texts, const std::string& option);

// Context, spec and engines outlive it.
std::unique_ptr<Forwarder> make_forwarder(Context& context, const ClusterSpec& spec, const Engines& engines,
                                          const ReadyNode& node, std::vector<LocalPort> ports);

// Says where each port leads: a note each, with -o json one line on stdout.
void tell_forwarded(const Context& context, const std::vector<LocalPort>& ports, const NodeName& node);

// Work beside which ports are forwarded. Where the tunnel does not come to stand at first, that is a warning.
class ForwardingBeside {
public:
    // `forwarder` null: nothing is done beside.
    ForwardingBeside(const Context& context, std::unique_ptr<Forwarder> forwarder, NodeName node);

    template <class T>
    Task<T> during(Task<T> work) {
        if (!forwarder_) {
            co_return co_await std::move(work);
        }
        children_.start(forward());
        co_return co_await with_cleanup(std::move(work), [this] { return end(); });
    }

private:
    Task<void> forward();
    Task<void> end();

    const Context& context_;
    std::unique_ptr<Forwarder> forwarder_;
    NodeName node_;
    detail::Children children_;
};

// Starts what shows web pages here: $BROWSER, else the system's own way. A note where there is none.
void open_browser(const Context& context, const std::string& url);

} // namespace dockdist
