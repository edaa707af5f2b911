#include "client/observe/observe.hpp"

#include "client/async/run_all.hpp"
#include "client/plan/engine_abilities.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/made_by.hpp"
#include "client/plan/node_gpus.hpp"
#include "client/plan/plan.hpp"
#include "client/report/step.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace dockdist {
namespace {

int to_int(const std::string& text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

ObservedNode to_node(const ContainerSummary& container) {
    return {.id = container.id,
            .container_name = container.name,
            .node = NodeName(label_of(container.labels, labels::node)),
            .rank = to_int(label_of(container.labels, labels::rank)),
            .state = container.state,
            .image_id = container.image_id,
            .labels = container.labels};
}

Neighbour to_neighbour(const ContainerSummary& container) {
    const auto origin = label_of(container.labels, labels::origin); // USER@MACHINE:FILE
    return {.id = container.id,
            .cluster = label_of(container.labels, labels::cluster),
            .node = label_of(container.labels, labels::node),
            .owner = origin.substr(0, origin.find(':')),
            .state = container.state,
            .old = !container.labels.contains(labels::gpus),
            .gpus = gpus_of_label(label_of(container.labels, labels::gpus)),
            .image_id = container.image_id,
            .toolkit = label_of(container.labels, labels::version)};
}

class HostObserver {
public:
    HostObserver(const ClusterSpec& spec, ContainerEngine& engine, const std::vector<std::string>& toolkits,
                 bool first)
        : spec_(spec), engine_(engine), toolkits_(toolkits), first_(first) {}

    // Ends at the first error that leaves the host unknown.
    Task<Result<ObservedHost>> run() {
        const auto version = co_await engine_.ping();
        CO_TRY(version);
        std::vector<Task<Status>> reads;
        reads.push_back(read_containers());
        if (!toolkits_.empty()) {
            reads.push_back(read_info());
            reads.push_back(read_image());
            for (const auto& toolkit : toolkits_) {
                reads.push_back(read_volume(toolkit));
            }
            if (first_) {
                reads.push_back(read_lock());
            }
        }
        if (auto error = first_error(co_await run_all(std::move(reads)))) {
            co_return *error;
        }
        std::vector<Task<Status>> records;
        for (auto* nodes : {&host_.nodes, &host_.aside}) {
            for (auto& node : *nodes) {
                if (node.state == ContainerState::running) {
                    records.push_back(read_record(node));
                }
            }
        }
        if (auto error = first_error(co_await run_all(std::move(records)))) {
            co_return *error;
        }
        co_return std::move(host_);
    }

private:
    static std::optional<Error> first_error(const std::vector<Status>& results) {
        for (const auto& result : results) {
            TRY(result);
        }
        return std::nullopt;
    }

    Task<Status> read_info() {
        auto info = co_await engine_.info();
        CO_TRY(info);
        host_.engine = std::move(*info);
        co_return ok;
    }

    Task<Status> read_image() {
        auto image = co_await engine_.inspect_image(spec_.image.ref);
        if (image) {
            host_.image = std::move(*image);
        } else if (image.error().kind != ErrorKind::not_found) {
            co_return image.error();
        }
        co_return ok;
    }

    Task<Status> read_volume(const std::string& version) {
        const auto volume = co_await engine_.inspect_volume(labels::toolkit_volume_prefix + version);
        if (!volume && volume.error().kind != ErrorKind::not_found) {
            co_return volume.error();
        }
        if (volume) {
            host_.toolkits.insert(version);
        }
        co_return ok;
    }

    Task<Status> read_lock() {
        auto lock = co_await engine_.inspect_volume(lock_name(spec_.name));
        if (!lock && lock.error().kind != ErrorKind::not_found) {
            co_return lock.error();
        }
        if (lock && label_of(lock->labels, labels::cluster) == spec_.name.str()) {
            host_.lock = std::move(*lock);
        }
        co_return ok;
    }

    Task<Status> read_containers() {
        auto containers = co_await engine_.list_containers({.labels = {labels::cluster}});
        CO_TRY(containers);
        host_.neighbours = neighbours_in(*containers, spec_.name);
        for (auto& container : *containers) {
            if (label_of(container.labels, labels::cluster) != spec_.name.str()) {
                continue;
            }
            const auto role = label_of(container.labels, labels::role);
            if (role == "node") {
                host_.nodes.push_back(to_node(container));
            } else if (role == "lock") {
                host_.older_lock = std::move(container);
            } else {
                host_.others.push_back(std::move(container));
            }
        }
        std::ranges::sort(host_.nodes, {}, &ObservedNode::rank);
        part_set_aside();
        co_return ok;
    }

    // One that an `up` has set aside is the node for as long as there is no other.
    void part_set_aside() {
        const auto has_other_name = [&](const ObservedNode& node) {
            return node.container_name == set_aside_name(spec_.name, node.node);
        };
        std::set<NodeName> there;
        for (const auto& node : host_.nodes) {
            if (!has_other_name(node)) {
                there.insert(node.node);
            }
        }
        for (auto& node : std::exchange(host_.nodes, {})) {
            const bool aside = has_other_name(node) && there.contains(node.node);
            (aside ? host_.aside : host_.nodes).push_back(std::move(node));
        }
    }

    // The node's record is the last line of its log, as long as it is ready.
    Task<Status> read_record(ObservedNode& node) {
        const auto tail = co_await engine_.container_log_tail(node.id, 1);
        if (!tail) {
            // A container that goes while it is looked at is one that is not ready.
            co_return tail.error().kind == ErrorKind::not_found ? Status(ok) : Status(tail.error());
        }
        std::string_view line = *tail;
        while (line.ends_with('\n') || line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        auto message = wire::parse_join_message(line);
        // Any process of the container's root may write there: it speaks for this node alone.
        if (message && message->type == wire::JoinMessage::Type::ready &&
            message->record.node == node.node.str()) {
            node.rank = message->record.rank; // which changes with the hosts before it in the file
            node.record = std::move(message->record);
            node.members_hash = std::move(message->members_hash);
        }
        co_return ok;
    }

    const ClusterSpec& spec_;
    ContainerEngine& engine_;
    const std::vector<std::string>& toolkits_;
    bool first_;
    ObservedHost host_{};
};

bool can_use(Understanding node, Words words) {
    return node == Understanding::all || (node == Understanding::of_jobs && words == Words::of_jobs);
}

Task<Result<ObservedHost>> observe_host(const ClusterSpec& spec, ContainerEngine& engine,
                                        const std::vector<std::string>& toolkits, const HostSpec& host,
                                        Reporter& reporter) {
    Step step(reporter, "observe", host.name.str(), "connect");
    HostObserver observer(spec, engine, toolkits, &host == &spec.hosts.front());
    auto result = co_await observer.run();
    if (!result) {
        step.failed(result.error().message);
        auto error = result.error();
        error.where = host_label(host);
        if (error.message.starts_with(host.docker.url + " ")) { // the label names it
            error.message.erase(0, host.docker.url.size() + 1);
        }
        co_return error;
    }
    step.finished(result->engine.version.empty() ? "reached" : "reached, " + engine_name(result->engine));
    co_return result;
}

} // namespace

std::vector<Neighbour> neighbours_in(const std::vector<ContainerSummary>& containers,
                                     const ClusterName& own) {
    std::vector<Neighbour> neighbours;
    for (const auto& container : containers) {
        if (label_of(container.labels, labels::role) == "node" &&
            label_of(container.labels, labels::cluster) != own.str()) {
            neighbours.push_back(to_neighbour(container));
        }
    }
    return neighbours;
}

Task<Observation> observe(const ClusterSpec& spec, const Engines& engines, std::vector<std::string> toolkits,
                          Reporter& reporter, std::vector<bool> only) {
    std::vector<Task<Result<ObservedHost>>> tasks;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        if (!only.empty() && !only[i]) {
            continue;
        }
        asked.push_back(i);
        tasks.push_back(observe_host(spec, *engines[i], toolkits, spec.hosts[i], reporter));
    }
    auto results = co_await run_all(std::move(tasks));
    Observation observation{.reached = std::vector<bool>(engines.size(), false)};
    observation.cluster.hosts.resize(engines.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        observation.reached[asked[i]] = results[i].has_value();
        if (results[i]) {
            observation.cluster.hosts[asked[i]] = std::move(*results[i]);
        } else {
            observation.errors.push_back(results[i].error());
        }
    }
    co_return observation;
}

ReadyNodes ready_nodes(const ClusterSpec& spec, const ObservedCluster& cluster,
                       const std::vector<bool>& reached, Words words) {
    ReadyNodes result;
    for (const auto& node : expand_nodes(spec)) {
        if (!reached.empty() && !reached[node.host]) {
            continue;
        }
        const auto& there = cluster.hosts[node.host].nodes;
        const auto found = std::ranges::find(there, node.name, &ObservedNode::node);
        const auto where = node_label(node.name, spec.hosts[node.host]);
        if (found == there.end()) {
            result.errors.push_back({ErrorKind::node, where, "the node is not up", "run `dockdist up`"});
        } else if (found->state != ContainerState::running || !found->record) {
            result.errors.push_back(
                {ErrorKind::node, where, "the node is not ready", "run `dockdist up` to bring it back"});
        } else if (const auto by = made_by(found->labels); !can_use(understanding_of(by), words)) {
            result.errors.push_back({ErrorKind::node, where, other_words(by), bring_to_this_version(by)});
        } else {
            result.nodes.push_back({node.name, found->id, node.host, *found->record});
        }
    }
    return result;
}

} // namespace dockdist
