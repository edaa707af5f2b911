// Ports forwarded to one node, for the commands that do so.
#pragma once

#include "client/async/cleanup.hpp"
#include "client/cli/context.hpp"
#include "client/forward/forwarder.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// Errors (usage): each text that is none, and a local port that is asked for twice; `option` is their where.
struct ForwardPorts {
    std::vector<ForwardPort> ports{};
    Errors errors{};
};
ForwardPorts parse_forward_ports(const std::vector<std::string>& texts, const std::string& option);

// Context, spec and engines outlive what these make.
ForwardGoal forward_goal(Context& context, const ClusterSpec& spec, const Engines& engines,
                         const ReadyNode& node);
std::unique_ptr<Forwarder> make_forwarder(Context& context, const ClusterSpec& spec, const Engines& engines,
                                          const ReadyNode& node, std::vector<LocalPort> ports);

using PrintJson = std::function<void(const nlohmann::json& line)>;

// Says where each port leads: a note each, with -o json one line by `print`.
void tell_forwarded(const Context& context, const Forwarder& forwarder, const PrintJson& print);

// Work beside which ports are forwarded. A tunnel that does not come to stand at first is tried again, with a
// warning; what cannot change is one, too.
class ForwardingBeside {
public:
    // `forwarder` null: nothing is done beside. `print`: where the work's own lines of -o json go.
    ForwardingBeside(const Context& context, std::unique_ptr<Forwarder> forwarder, PrintJson print);

    template <class T>
    Task<T> during(Task<T> work) {
        if (!forwarder_) {
            co_return co_await std::move(work);
        }
        children_.start(forward());
        co_return co_await with_cleanup(then_drained(std::move(work)), [this] { return end(); });
    }

    // Forwarder's.
    void lead_to(ForwardGoal goal) {
        if (forwarder_) {
            forwarder_->lead_to(std::move(goal));
        }
    }

private:
    // A server ends with its job, and what it said last comes by another way than the job's end.
    template <class T>
    Task<T> then_drained(Task<T> work) {
        auto result = co_await std::move(work);
        co_await forwarder_->drain(longest_drain);
        co_return result;
    }
    Task<void> forward();
    Task<void> end();

    static constexpr std::chrono::seconds longest_drain{2};
    const Context& context_;
    std::unique_ptr<Forwarder> forwarder_;
    PrintJson print_;
    detail::Children children_;
};

} // namespace dockdist
