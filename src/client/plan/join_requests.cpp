#include "client/plan/join_requests.hpp"

#include "client/plan/driver_capabilities.hpp"
#include "client/plan/fingerprint.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/subnet.hpp"
#include "shared/digest/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace dockdist {
namespace {

// One address in one writing.
std::string uniform(const std::string& address) {
    const auto subnet = read_subnet(address + (read_ipv6(address) ? "/128" : "/32"));
    return subnet ? address_of(*subnet) : address;
}

// What the file says of the host's place, as far as that is the same for whoever reads it: what an ssh alias
// or a context stands for is not.
std::string asked_of(const HostSpec& host) {
    std::vector<std::string> words;
    if (!host.given_address.empty()) {
        words.push_back("address " + uniform(host.given_address));
    }
    if (!host.interface.empty()) {
        words.push_back("interface " + host.interface);
    }
    if (!host.subnets.empty()) {
        words.push_back(fmt::format("network.subnet {}", fmt::join(host.subnets, ", ")));
    }
    auto text = fmt::format("{}", fmt::join(words, ", "));
    return text.size() <= wire::longest_asked ? text : sha256_of(text);
}

// The address of the engine, where the file has it in numbers and nothing else says where the node is.
std::string engine_address(const HostSpec& host, const std::string& asked) {
    return asked.empty() && host.context.empty() && is_ip_address(host.docker.host) ? host.address : "";
}

// Empty where the file says nothing of the kind.
std::string digest_of(const wire::NodeSettings& settings) {
    if (settings == wire::NodeSettings{}) {
        return "";
    }
    std::string text = settings.workdir + '\0';
    for (const auto& [name, value] : settings.env) {
        text += name + '=' + value + '\0';
    }
    if (const auto& kept = settings.history; kept != wire::HistoryLimits{}) {
        text += fmt::format("history {} {} {}", kept.keep_bytes, kept.for_ms, kept.logs_for_ms);
    }
    return sha256_hex(text).substr(0, wire::longest_settings);
}

std::string changed(std::string_view what, const std::string& now, const std::string& before) {
    return fmt::format("{} changed: {} instead of {}", what, now, before);
}

// Empty where it would be at the same place.
std::string why_elsewhere(const HostSpec& host, const std::string& asked, const wire::NodeRecord& record) {
    if (is_same_address(host.given_address, record.address) &&
        (host.interface.empty() || host.interface == record.interface)) {
        return ""; // whatever led it there
    }
    if (asked != record.asked) {
        const auto said = [](const std::string& words) { return words.empty() ? "none" : words; };
        return changed("its place in the file", said(asked), said(record.asked));
    }
    const auto address = engine_address(host, asked);
    return address.empty() || is_same_address(address, record.address)
               ? ""
               : changed("its address", address, record.address);
}

// Takes back what the container of `there` was created with and the file says no more: the image's own comes
// again, where `image` (null: not known) has it.
void forget_earlier_settings(const ObservedNode& there, const ImageDetails* image,
                             wire::NodeSettings& settings) {
    for (const auto& name : created_variables(there.labels)) {
        if (comes_late(name) && !settings.env.contains(name)) {
            if (auto value = image_value(image, name)) {
                settings.env[name] = std::move(*value);
            } else {
                settings.unset.push_back(name);
            }
        }
    }
    if (settings.workdir.empty() && image != nullptr) {
        settings.workdir = image->working_dir.empty() ? "/" : image->working_dir;
    }
}

// Of a node that is where the file wants it.
std::string why_anew(const wire::JoinRequest& request, const wire::NodeRecord& record) {
    if (request.rank != record.rank) {
        return changed("its rank", std::to_string(request.rank), std::to_string(record.rank));
    }
    if (request.slots != 0 && request.slots != record.slots) {
        return changed("its slots", std::to_string(request.slots), std::to_string(record.slots));
    }
    if (request.rdma != record.rdma.use) {
        return changed("`network.rdma`", request.rdma, record.rdma.use);
    }
    return request.settings == record.settings ? "" : "`env`, `workdir` or `history` changed";
}

// What the file says of jobs and sessions on a host's nodes, as far as it comes late
// (client/plan/fingerprint.hpp).
wire::NodeSettings node_settings(const ClusterSpec& spec, const HostSpec& host) {
    const auto& history = spec.history;
    wire::NodeSettings settings{.env = host.env,
                                .workdir = spec.container.workdir,
                                .history = {.keep_bytes = static_cast<std::int64_t>(history.keep.count),
                                            .for_ms = history.records_for.count(),
                                            .logs_for_ms = history.logs_for.count()}};
    settings.env.insert(spec.container.env.begin(), spec.container.env.end()); // the host's own goes before
    std::erase_if(settings.env, [](const auto& variable) { return !comes_late(variable.first); });
    return settings;
}

} // namespace

std::vector<wire::JoinRequest> join_requests(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes) {
    std::map<std::size_t, int> nodes_of;
    int nodes_beside = 1;
    for (const auto& node : nodes) {
        nodes_beside = std::max(nodes_beside, ++nodes_of[node.host]);
    }
    std::vector<wire::JoinRequest> requests;
    for (const auto& node : nodes) {
        const auto& host = spec.hosts[node.host];
        wire::JoinRequest request;
        request.cluster = spec.name.str();
        request.node = node.name.str();
        request.rank = node.rank;
        request.address = host.address;
        request.derived = host.given_address.empty();
        request.interface = host.interface;
        request.subnets = host.subnets;
        request.asked = asked_of(host);
        request.ssh_port = spec.ssh.port ? spec.ssh.port->number : 0;
        request.slots = node.slots.value_or(0);
        request.user = spec.container.user;
        request.rdma = to_word(spec.network.rdma);
        request.settings = digest_of(node_settings(spec, host));
        request.nodes = static_cast<int>(nodes.size());
        request.nodes_beside = nodes_beside;
        std::ranges::transform(spec.container.mounts, std::back_inserter(request.mounts), &MountSpec::target);
        requests.push_back(std::move(request));
    }
    return requests;
}

const ObservedNode* settle(const ClusterSpec& spec, const ObservedHost& host, JoinNode& join) {
    join.settings = node_settings(spec, spec.hosts[join.host]);
    if (join.id.empty()) {
        return nullptr;
    }
    const auto& there = *std::ranges::find(host.nodes, join.node.name, &ObservedNode::node);
    forget_earlier_settings(there, host.image ? &*host.image : nullptr, join.settings);
    if (there.record) {
        join.cause = why_elsewhere(spec.hosts[join.host], join.request.asked, *there.record);
        join.elsewhere = !join.cause.empty();
        join.cause = join.elsewhere ? join.cause : why_anew(join.request, *there.record);
    }
    return &there;
}

} // namespace dockdist
