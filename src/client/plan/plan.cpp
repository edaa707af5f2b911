#include "client/plan/plan.hpp"

#include "client/container/same_image.hpp"
#include "client/plan/architecture.hpp"
#include "client/plan/ending_jobs.hpp"
#include "client/plan/engine_abilities.hpp"
#include "client/plan/fingerprint.hpp"
#include "client/plan/gpu_plan.hpp"
#include "client/plan/image_groups.hpp"
#include "client/plan/join_requests.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/made_by.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/origin.hpp"
#include "client/plan/replacement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dockdist {
namespace {

class Planner {
public:
    Planner(const ClusterSpec& spec, const ObservedCluster& observed, const PlanContext& context)
        : spec_(spec), observed_(observed), context_(context), gpus_(spec, observed) {}

    PlanResult make() {
        for (std::size_t host = 0; host < spec_.hosts.size(); ++host) {
            if (!is_left_out(host)) {
                check_host(host);
            }
        }
        check_image();
        auto nodes = expand_nodes(spec_);
        std::erase_if(nodes, [this](const NodeSpec& node) { return is_left_out(node.host); });
        std::ranges::transform(nodes, std::inserter(called_, called_.end()), &NodeSpec::name);
        for (const auto& node : nodes) {
            plan_node(node);
        }
        for (std::size_t host = 0; host < spec_.hosts.size(); ++host) {
            remove_leftovers(host, nodes);
        }
        plan_hosts();
        check_jobs(observed_, context_.stop_jobs, result_);
        if (result_.errors.empty()) {
            plan_joins(nodes);
        }
        if (!result_.errors.empty()) {
            result_.plan = {};
        }
        return std::move(result_);
    }

private:
    const ObservedHost& seen(std::size_t host) const { return observed_.hosts[host]; }
    bool is_left_out(std::size_t host) const { return !context_.left_out.empty() && context_.left_out[host]; }

    void fail(std::size_t host, ErrorKind kind, std::string message, std::string hint) {
        result_.errors.push_back({kind, host_label(spec_.hosts[host]), std::move(message), std::move(hint)});
    }

    void check_host(std::size_t host) {
        const auto& engine = seen(host).engine;
        for (auto& error : judge_engine(spec_, spec_.hosts[host], engine).errors) {
            fail(host, ErrorKind::config, std::move(error.message), std::move(error.hint));
        }
        if (auto error = judge_architecture(spec_.image, seen(host), context_.toolkits, brings_image())) {
            fail(host, ErrorKind::config, std::move(error->message), std::move(error->hint));
        }
    }

    // What a host has is not what it will have.
    bool brings_image() const {
        return !context_.pulled && (!spec_.image.from.empty() || spec_.image.pull != ImageSpec::Pull::never);
    }

    std::string toolkit_version(std::size_t host) const {
        const auto* toolkit = toolkit_of(context_.toolkits, spec_.image, seen(host));
        return toolkit == nullptr ? "" : toolkit->version; // check_host has said it
    }

    void check_image() {
        if (context_.build) {
            plan_build();
            return;
        }
        if (context_.source && !context_.pulled) {
            plan_sends(*context_.source);
            return;
        }
        const auto groups = image_groups(observed_);
        if (!images_differ(groups)) {
            return;
        }
        if (spec_.image.pull == ImageSpec::Pull::always && !context_.pulled) {
            renew_image_ = true;
            return;
        }
        result_.errors.push_back(of_different_images(spec_, groups));
    }

    void plan_build() {
        result_.plan.build = {spec_.image.ref, "it is not there yet"};
        for (std::size_t host = 0; host < spec_.hosts.size(); ++host) {
            if (spec_.hosts[host].name.str() != spec_.image.from && !is_left_out(host)) {
                result_.plan.sends.push_back({host, spec_.image.ref, "it is built first"});
            }
        }
    }

    void plan_sends(const ImageDetails& source) {
        for (std::size_t host = 0; host < spec_.hosts.size(); ++host) {
            if (is_left_out(host)) {
                continue;
            }
            if (auto error = judge_source(spec_.image, source, seen(host).engine)) {
                fail(host, ErrorKind::config, std::move(error->message), std::move(error->hint));
            } else if (const auto& image = seen(host).image; !image || !same_image(*image, source)) {
                result_.plan.sends.push_back(
                    {host, spec_.image.ref, image ? "the host has another" : "the host lacks it"});
            }
        }
    }

    ContainerConfig labelled(ContainerConfig config, const NodeSpec& node, const std::string& print) const {
        config.labels = labels::common(spec_.name.str(), "node", context_.attempt, context_.origin);
        config.labels.insert({{labels::node, node.name.str()},
                              {labels::rank, std::to_string(node.rank)},
                              {labels::spec, print},
                              {labels::version, toolkit_version(node.host)},
                              {labels::release, context_.release},
                              {labels::wire, std::to_string(wire::version)}});
        return config;
    }

    NodeConfigInput input_for(const NodeSpec& node) const {
        const auto& host = seen(node.host);
        return {.spec = spec_,
                .node = node,
                .image = host.image ? &*host.image : nullptr,
                .toolkit_version = toolkit_version(node.host),
                .origin = context_.origin,
                .engine = abilities_of(host.engine),
                .cdi = uses_cdi(spec_.hosts[node.host], host.engine),
                .imex =
                    spec_.container.devices_auto && asks_for_nvidia(node.gpus) && may_have_imex(host.engine)};
    }

    bool wants_rdma_devices() const {
        return spec_.container.devices_auto && spec_.network.rdma != NetworkSpec::Rdma::off;
    }

    void plan_node(const NodeSpec& node) {
        const auto& host = seen(node.host);
        const auto config = node_config(input_for(node), wants_rdma_devices());
        const auto print = fingerprint(config);
        const auto there = std::ranges::find(host.nodes, node.name, &ObservedNode::node);
        if (there == host.nodes.end()) {
            create_first(node, config, print);
            return;
        }
        auto cause = reason_to_replace(*there, node, config, print);
        cause = cause.empty() ? gpus_.lost(node, *there) : cause;
        if (!cause.empty()) {
            if (!may_change(node.host, *there)) {
                return;
            }
            auto replaced = plan_replacement(seen(node.host), node, *there, cause, result_.plan);
            create(node, config, print, cause, std::move(replaced));
            return;
        }
        finish_replacement(spec_, seen(node.host), node, *there, result_.plan);
        if (there->state == ContainerState::running) {
            if (!there->record) {
                rejoin_ = true;
            }
            ids_[node.name] = there->id;
        } else {
            gpus_.want_look(node, result_);
            result_.plan.starts.push_back(
                {node.host, node.name, there->id, "not running", upload_to(node.host)});
            ids_[node.name] = there->id;
            rejoin_ = true;
        }
    }

    void create_first(const NodeSpec& node, const ContainerConfig& config, const std::string& print) {
        const auto free = [this](const auto& there) {
            return !called_.contains(there.node) && !renamed_.contains(there.id);
        };
        const auto* before = called_by_position(spec_.hosts[node.host], seen(node.host), free);
        if (before == nullptr) {
            create(node, config, print, "not there");
        } else if (may_change(node.host, *before)) {
            renamed_.insert(before->id);
            const auto cause = "it is named after its machine now, and was " + before->node.str();
            auto replaced = plan_replacement(seen(node.host), node, *before, cause, result_.plan);
            create(node, config, print, cause, std::move(replaced));
        }
    }

    std::string reason_to_replace(const ObservedNode& there, const NodeSpec& node,
                                  const ContainerConfig& config, const std::string& print) const {
        const auto& image = seen(node.host).image;
        if (is_half_replaced(seen(node.host), there)) {
            return "an `up` that was interrupted has not finished it";
        }
        if (label_of(there.labels, labels::version) != toolkit_version(node.host)) {
            return made_by_another(made_by(there.labels), context_.release);
        }
        if (label_of(there.labels, labels::spec) != print &&
            !gpus_.went_other_way(there, input_for(node), wants_rdma_devices())) {
            return changed_keys_text(label_of(there.labels, labels::spec_keys), config);
        }
        if (image && image->id != there.image_id) {
            return "the image changed";
        }
        if (there.state == ContainerState::paused || there.state == ContainerState::dead ||
            there.state == ContainerState::removing || there.state == ContainerState::restarting) {
            return "it is neither running nor startable";
        }
        return "";
    }

    // Whoever changes a cluster must be the one who made it, or say so: two people may have chosen one name.
    bool may_change(std::size_t host, const ObservedNode& node) {
        const auto origin = another_origin(node.labels, context_.origin);
        if (context_.take_over || !origin) {
            return true;
        }
        auto error = of_another_file(spec_.name, *origin, "and differs from this file", "up");
        fail(host, error.kind, std::move(error.message), std::move(error.hint));
        return false;
    }

    void create(const NodeSpec& node, const ContainerConfig& config, const std::string& print,
                std::string cause, std::optional<ReplacedNode> replaces = std::nullopt) {
        CreateNode operation{.host = node.host,
                             .node = node,
                             .replaces = std::move(replaces),
                             .container_name = container_name(spec_.name, node.name),
                             .config = labelled(config, node, print),
                             .tries_imex = input_for(node).imex,
                             .cause = std::move(cause)};
        if (wants_rdma_devices()) {
            operation.without_rdma = labelled(node_config(input_for(node), false), node, print);
        }
        const auto gpus = gpus_.choose(node, result_);
        for (auto* made : {&operation.config, operation.without_rdma ? &*operation.without_rdma : nullptr}) {
            if (made != nullptr) {
                made->labels[labels::spec_keys] = key_digests(config);
                gpus_.give(node, gpus, *made);
                add_beside(*made, input_for(node));
            }
        }
        operation.gpus = gpus ? to_text(*gpus) : "";
        result_.plan.creates.push_back(std::move(operation));
        result_.plan.starts.push_back({node.host, node.name, {}, "", upload_to(node.host)});
        rejoin_ = true;
    }

    UploadToolkit upload_to(std::size_t host) const {
        auto config = toolkit_upload_config(spec_.image, toolkit_version(host));
        config.labels = labels::common(spec_.name.str(), "upload", context_.attempt, context_.origin);
        return {host, container_architecture(spec_.image, seen(host)),
                container_name(spec_.name, NodeName("upload." + context_.attempt)), std::move(config)};
    }

    // Nodes that bear the cluster's labels and that the file no longer names; containers of uploads that
    // nobody ended. (Whose `up` is alive holds the lock, so that this plan is not carried out.)
    void remove_leftovers(std::size_t host, const std::vector<NodeSpec>& nodes) {
        for (const auto* there : {&seen(host).nodes, &seen(host).aside}) {
            for (const auto& node : *there) {
                if (is_left_over(node, host, nodes) && may_change(host, node)) {
                    const bool aside = there == &seen(host).aside;
                    result_.plan.removals.push_back({host, node.id, node.container_name,
                                                     aside ? left_behind : "the file does not name it"});
                    rejoin_ = true;
                }
            }
        }
        for (const auto& container : seen(host).others) {
            const auto role = label_of(container.labels, labels::role);
            if (role == "upload" || role == "relay" || role == "look") {
                result_.plan.removals.push_back({host, container.id, container.name, left_behind});
            }
        }
    }

    // Two hosts of the file may be one engine, which tells of both hosts' nodes.
    bool is_left_over(const ObservedNode& there, std::size_t host, const std::vector<NodeSpec>& nodes) const {
        const auto has = [&](const std::vector<ObservedNode>& some) {
            return std::ranges::find(some, there.id, &ObservedNode::id) != some.end();
        };
        const bool wanted = std::ranges::any_of(nodes, [&](const NodeSpec& node) {
            return node.name == there.node &&
                   (node.host == host || has(seen(node.host).nodes) || has(seen(node.host).aside));
        });
        const auto& removals = result_.plan.removals;
        return !wanted && !renamed_.contains(there.id) &&
               std::ranges::find(removals, there.id, &RemoveContainer::id) == removals.end();
    }

    void plan_hosts() {
        std::set<std::size_t> creating;
        for (const auto& create : result_.plan.creates) {
            creating.insert(create.host);
        }
        for (const auto host : creating) {
            const auto* image = seen(host).image ? &*seen(host).image : nullptr;
            for (auto& warning : judge_engine(spec_, spec_.hosts[host], seen(host).engine, image).warnings) {
                result_.warnings.push_back({ErrorKind::config, host_label(spec_.hosts[host]),
                                            std::move(warning.message), std::move(warning.hint)});
            }
            if (!seen(host).image && spec_.image.from.empty() && spec_.image.pull == ImageSpec::Pull::never) {
                fail(host, ErrorKind::not_found, "the image " + spec_.image.ref.str() + " is not there",
                     "bring it there with `dockdist image push --from HOST`, or drop `pull: never`");
            } else {
                plan_pull(host);
            }
            if (!has_toolkit(seen(host), toolkit_of(context_.toolkits, spec_.image, seen(host)))) {
                result_.plan.uploads.push_back(upload_to(host));
            }
        }
        for (std::size_t host = 0; renew_image_ && host < spec_.hosts.size(); ++host) {
            if (!creating.contains(host) && !is_left_out(host)) {
                plan_pull(host);
            }
        }
    }

    void plan_pull(std::size_t host) {
        const bool always = spec_.image.pull == ImageSpec::Pull::always;
        const bool other = has_other_platform(spec_.image, seen(host));
        if (!context_.pulled && spec_.image.from.empty() && (!seen(host).image || always || other)) {
            result_.plan.pulls.push_back({host, spec_.image.ref,
                                          always  ? "pull: always"
                                          : other ? "the host has it for " + seen(host).image->architecture
                                                  : "the host lacks it"});
        }
    }

    void plan_joins(const std::vector<NodeSpec>& nodes) {
        auto requests = join_requests(spec_, nodes);
        std::vector<JoinNode> joins;
        bool anew = rejoin_;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto& node = nodes[i];
            auto& join = joins.emplace_back(JoinNode{node.host, node, ids_[node.name], std::move(requests[i]),
                                                     observed_.hosts[node.host].engine.name});
            if (const auto* there = settle(spec_, seen(node.host), join); there && !join.cause.empty()) {
                anew = may_change(node.host, *there) || anew;
            }
        }
        if (anew || members_differ(nodes)) {
            result_.plan.joins = std::move(joins);
            warn_of_moves(observed_, result_);
            result_.wanted.members = !ids_.empty() && !observed_.known;
            result_.plan.orphans = find_orphans(spec_, observed_);
        }
    }

    // Whether the nodes, which all stand, know another set of members than themselves.
    bool members_differ(const std::vector<NodeSpec>& nodes) const {
        wire::Members members{.cluster = spec_.name.str()};
        std::set<std::string> hashes;
        for (const auto& node : nodes) {
            const auto& there = *std::ranges::find(seen(node.host).nodes, node.name, &ObservedNode::node);
            members.nodes.push_back(*there.record);
            hashes.insert(there.members_hash);
        }
        // Of a host that does not answer nobody can say here whether its node is among those that they know.
        return hashes.size() != 1 ||
               (context_.left_out.empty() && *hashes.begin() != wire::members_hash(members));
    }

    const ClusterSpec& spec_;
    const ObservedCluster& observed_;
    const PlanContext& context_;
    GpuPlan gpus_;
    PlanResult result_{};
    std::map<NodeName, ContainerId> ids_{}; // containers that stay
    std::set<NodeName> called_{};           // by the file
    std::set<ContainerId> renamed_{};       // that a node with another name replaces
    bool rejoin_ = false;
    bool renew_image_ = false; // on every host
};

} // namespace

PlanResult make_plan(const ClusterSpec& spec, const ObservedCluster& observed, const PlanContext& context) {
    return Planner(spec, observed, context).make();
}

} // namespace dockdist
