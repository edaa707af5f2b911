#include "client/observe/store_readers.hpp"

#include "client/async/run_all.hpp"
#include "client/container/confine.hpp"
#include "client/observe/helper_parts.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <utility>

namespace dockdist {
namespace {

std::string label_query(const char* name, const std::string& value) {
    return std::string(name) + "=" + value;
}

Error nothing_to_read_with(const ClusterSpec& spec, const Store& store) {
    return {ErrorKind::not_found, node_label(store.node, spec.hosts[store.host]),
            fmt::format("what it has kept of its jobs is there (volume {}), and nothing to read it with: the "
                        "host lacks the image {} or dockdist's toolkit",
                        store.volume, spec.image.ref.str()),
            "`dockdist up` brings both"};
}

} // namespace

Task<FoundStores> find_stores(const ClusterSpec& spec, const Engines& engines, const std::vector<bool>& hosts,
                              const std::set<NodeName>& there) {
    std::vector<Task<Result<std::vector<VolumeDetails>>>> lists;
    std::vector<std::size_t> asked;
    for (std::size_t host = 0; host < engines.size(); ++host) {
        if (hosts[host]) {
            asked.push_back(host);
            lists.push_back(engines[host]->list_volumes(
                {label_query(labels::cluster, spec.name.str()), label_query(labels::role, "store")}));
        }
    }
    auto answers = co_await run_all(std::move(lists));
    FoundStores found;
    std::set<NodeName> known = there; // two hosts of the file may be one engine
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!answers[i]) {
            auto error = answers[i].error();
            error.where = host_label(spec.hosts[asked[i]]);
            found.errors.push_back(std::move(error));
            continue;
        }
        for (const auto& volume : *answers[i]) {
            const auto node = label_of(volume.labels, labels::node);
            // Whoever may make volumes there labels them.
            if (is_plain_name(node) && volume.name == labels::store_volume(spec.name.str(), node) &&
                known.insert(NodeName(node)).second) {
                found.stores.push_back({asked[i], NodeName(node), volume.name});
            }
        }
    }
    co_return found;
}

Task<Result<ContainerId>> StoreReaders::make(ContainerEngine& engine, std::string name,
                                             ContainerConfig config) {
    auto id = co_await engine.create_container(std::move(name), std::move(config));
    if (!id) {
        co_return id;
    }
    CO_TRY(co_await engine.start_container(*id));
    co_return id;
}

Task<StoreReaders::Opened> StoreReaders::open(const ClusterSpec& spec, const Engines& engines,
                                              const ObservedCluster& seen, std::vector<Store> stores,
                                              Setting setting) {
    constexpr std::size_t bytes_of_a_name = 8;
    Opened opened;
    std::vector<Task<Result<ContainerId>>> tasks;
    std::vector<Store> tried;
    for (auto& store : stores) {
        const auto& host = seen.hosts[store.host];
        const auto parts = parts_on(spec, setting.toolkits, host);
        if (!parts) {
            opened.errors.push_back(nothing_to_read_with(spec, store));
            continue;
        }
        auto config = store_reader_config(parts->image, parts->toolkit, store.volume);
        if (host.engine.podman && host.engine.rootless) {
            config.network_mode = "host"; // with one of its own it may want cgroups that it may not mount
        }
        fit(config, host.engine);
        config.labels = labels::common(spec.name.str(), "look", setting.attempt, setting.origin);
        // No node's container has such a name: the '_'. Noted before it is there: a call that is cut off may
        // have had its effect.
        auto name = "dockdist_read_" + random_hex(bytes_of_a_name);
        made_.push_back({store.host, name});
        tasks.push_back(make(*engines[store.host], std::move(name), std::move(config)));
        tried.push_back(std::move(store));
    }
    auto ids = co_await run_all(std::move(tasks));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i]) {
            opened.nodes.push_back({tried[i].node, *ids[i], tried[i].host, {}});
        } else {
            auto error = ids[i].error();
            error.where = node_label(tried[i].node, spec.hosts[tried[i].host]);
            error.message = "what it has kept of its jobs cannot be read: " + error.message;
            opened.errors.push_back(std::move(error));
        }
    }
    co_return opened;
}

Task<void> StoreReaders::close(const Engines& engines) {
    std::vector<Task<Status>> removals;
    for (const auto& made : std::exchange(made_, {})) {
        removals.push_back(engines[made.host]->remove_container(ContainerId(made.name)));
    }
    co_await run_all(std::move(removals)); // what stays ends by itself, and goes with the next `up` or `down`
}

} // namespace dockdist
