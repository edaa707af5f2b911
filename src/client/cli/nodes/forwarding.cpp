#include "client/cli/nodes/forwarding.hpp"

#include "client/container/engine_words.hpp"
#include "client/plan/made_by.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

Task<Result<NodePlace>> find_place(Context& context, const ClusterSpec& spec, const Engines& engines,
                                   NodeName name, std::size_t host) {
    SilentReporter silent; // a job's output may be on the screen
    std::vector<bool> only(spec.hosts.size(), false);
    only[host] = true;
    const auto seen = co_await observe(spec, engines, {}, silent, std::move(only));
    if (!seen.errors.empty()) {
        co_return seen.errors.front();
    }
    const auto& nodes = seen.cluster.hosts[host].nodes;
    const auto found = std::ranges::find(nodes, name, &ObservedNode::node);
    if (found != nodes.end() && found->state == ContainerState::paused) {
        co_return Error{ErrorKind::node, name.str(), "its container is paused",
                        fmt::format("`{} unpause` lets it go on", words_of(engines[host]->podman()).program)};
    }
    if (found == nodes.end() || found->state != ContainerState::running) {
        co_return Error{ErrorKind::node, name.str(), "its container does not run",
                        "`dockdist up` brings it back"};
    }
    if (const auto by = made_by(found->labels); understanding_of(by) != Understanding::all) {
        co_return Error{ErrorKind::node, name.str(), other_words(by), bring_to_this_version(by)};
    }
    co_return NodePlace{.engine = engines[host].get(), .id = found->id};
}

nlohmann::json to_json(const LocalPort& port) {
    return {{"local", port.number},
            {"addresses", port.addresses()},
            {"host", port.target.host.empty() ? nlohmann::json() : nlohmann::json(port.target.host)},
            {"port", port.target.port},
            {"url", port.url()}};
}

} // namespace

ForwardPorts parse_forward_ports(const std::vector<std::string>& texts, const std::string& option) {
    ForwardPorts all;
    for (const auto& text : texts) {
        auto port = parse_forward_port(text, option);
        if (!port) {
            all.errors.push_back(port.error());
        } else if (port->local != 0 &&
                   std::ranges::find(all.ports, port->local, &ForwardPort::local) != all.ports.end()) {
            all.errors.push_back(
                {ErrorKind::usage, option,
                 fmt::format("port {} of this machine is asked for twice", port->local),
                 "each can lead to only one place: give the other another number, or 0 for any"});
        } else {
            all.ports.push_back(std::move(*port));
        }
    }
    return all;
}

ForwardGoal forward_goal(Context& context, const ClusterSpec& spec, const Engines& engines,
                         const ReadyNode& node) {
    return {.node = node.name,
            .place = {.engine = engines[node.host].get(), .id = node.id},
            .find = [&context, &spec, &engines, name = node.name, host = node.host] {
                return find_place(context, spec, engines, name, host);
            }};
}

std::unique_ptr<Forwarder> make_forwarder(Context& context, const ClusterSpec& spec, const Engines& engines,
                                          const ReadyNode& node, std::vector<LocalPort> ports) {
    return std::make_unique<Forwarder>(context.executor, forward_goal(context, spec, engines, node),
                                       std::move(ports), *context.reporter);
}

void tell_forwarded(const Context& context, const Forwarder& forwarder, const PrintJson& print) {
    const auto& node = forwarder.node().str();
    if (context.json()) {
        auto list = nlohmann::json::array();
        for (const auto& port : forwarder.ports()) {
            list.push_back(to_json(port));
        }
        return print({{"type", "forward"}, {"node", node}, {"ports", std::move(list)}});
    }
    for (const auto& port : forwarder.ports()) {
        const auto here = port.target.host.empty() ? port.url() : fmt::format("127.0.0.1:{}", port.number);
        context.reporter->on({.kind = Event::Kind::note,
                              .text = fmt::format("{} → {}", here, target_text(port.target, node))});
    }
}

ForwardingBeside::ForwardingBeside(const Context& context, std::unique_ptr<Forwarder> forwarder,
                                   PrintJson print)
    : context_(context), forwarder_(std::move(forwarder)), print_(std::move(print)),
      children_(context.executor) {}

Task<void> ForwardingBeside::forward() {
    auto ended = at_node(co_await forwarder_->run([this] { tell_forwarded(context_, *forwarder_, print_); },
                                                  Forwarder::FirstTry::may_fail),
                         forwarder_->node());
    ended.message = "its ports are not forwarded: " + ended.message;
    context_.reporter->on(warning_event(ended));
}

Task<void> ForwardingBeside::end() {
    children_.cancel();
    (void)co_await children_.join(detail::Children::OnCancel::ignore);
}

} // namespace dockdist
