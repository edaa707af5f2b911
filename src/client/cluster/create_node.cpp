#include "client/cluster/create_node.hpp"

#include "client/async/pause.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "shared/core/ascii.hpp"

namespace dockdist {
namespace {

bool lacks(const Error& error, std::string_view device) {
    return error.kind != ErrorKind::conflict && error.message.find(device) != std::string::npos;
}

// Docker: "error setting rlimit type 8"; Podman: "setrlimit `RLIMIT_MEMLOCK`", "ulimit".
bool refuses_limit(const Error& error) {
    const auto message = to_lower(error.message);
    return message.find("rlimit") != std::string::npos || message.find("ulimit") != std::string::npos;
}

bool drop_limits_if_allowed(ContainerConfig& config) {
    return std::erase_if(config.ulimits, [](const Ulimit& limit) { return limit.if_allowed; }) > 0;
}

// Made by an earlier `up` from the same file, which came no further. While this one holds the lock, that one
// is not alive. What has been started is another matter: an `up` that was done between our look and our lock.
bool is_of_an_up_cut_off(const ContainerDetails& there, const Labels& ours) {
    const auto same = [&](const char* name) {
        const auto a = there.labels.find(name);
        const auto b = ours.find(name);
        return a != there.labels.end() && b != ours.end() && a->second == b->second;
    };
    return there.state == ContainerState::created && same(labels::cluster) && same(labels::node) &&
           same(labels::origin) && !same(labels::attempt);
}

// A client that was killed may have left a create under way. The engine reserves the name at once, and shows
// the container only when it is done, maybe after we looked.
Task<Result<ContainerId>> create_or_replace(ContainerEngine& engine, std::string name,
                                            ContainerConfig config) {
    constexpr int most_tries = 50;
    for (int tries = 0;; ++tries) {
        auto id = co_await engine.create_container(name, config);
        if (id || id.error().kind != ErrorKind::conflict || tries == most_tries) {
            co_return id;
        }
        const auto there = co_await engine.inspect_container(ContainerId(name)); // engines take names, too
        if (!there && there.error().kind == ErrorKind::not_found) {
            co_await pause_for(std::chrono::milliseconds(100));
        } else if (!there || !is_of_an_up_cut_off(*there, config.labels)) {
            co_return id;
        } else if (const auto removed = co_await engine.remove_container(there->id); !removed) {
            co_return removed.error();
        }
    }
}

bool is_store(const Mount& mount) {
    return label_of(mount.volume_labels, labels::role) == "store";
}

// It is known whose `up` has made it: a volume that is there keeps its labels.
ContainerConfig with_marked_store(ContainerConfig config) {
    for (auto& mount : config.mounts) {
        if (is_store(mount)) {
            mount.volume_labels[labels::attempt] = label_of(config.labels, labels::attempt);
        }
    }
    return config;
}

// Podman labels no volume that it makes for a container: it is made before, as Docker makes it with that.
Task<Status> make_store(ContainerEngine& engine, const ContainerConfig& config) {
    for (const auto& mount : config.mounts) {
        if (mount.data_only && is_store(mount)) {
            CO_TRY(co_await engine.create_volume(mount.source, mount.volume_labels));
        }
    }
    co_return ok;
}

} // namespace

Task<Result<ContainerId>> create_node_container(ContainerEngine& engine, const CreateNode& create) {
    auto config = with_marked_store(create.config);
    CO_TRY(co_await make_store(engine, config));
    auto id = co_await create_or_replace(engine, create.container_name, config);
    // The engine names one of what its host lacks, whichever it comes to first.
    bool rdma = create.without_rdma.has_value();
    bool imex = create.tries_imex;
    while (!id) {
        if (rdma && lacks(id.error(), "/dev/infiniband")) {
            rdma = false;
            config = with_marked_store(imex || !create.tries_imex ? *create.without_rdma
                                                                  : without_imex(*create.without_rdma));
        } else if (imex && lacks(id.error(), imex_channel)) {
            imex = false;
            config = without_imex(std::move(config));
        } else {
            break;
        }
        id = co_await create_or_replace(engine, create.container_name, config);
    }
    if (!id && id.error().kind == ErrorKind::conflict) {
        auto error = id.error();
        error.message = "a container named " + create.container_name +
                        " exists that does not belong to this cluster, or was just created by somebody else";
        error.hint =
            "run the command again; if that does not help, remove or rename that container, or give the "
            "cluster another `name:`";
        co_return error;
    }
    co_return id;
}

Task<std::optional<Result<ContainerId>>> create_with_own_limits(ContainerEngine& engine, CreateNode create,
                                                                ContainerId made, Error why) {
    if (!refuses_limit(why) || !drop_limits_if_allowed(create.config)) {
        co_return std::nullopt;
    }
    if (create.without_rdma) {
        drop_limits_if_allowed(*create.without_rdma);
    }
    if (const auto removed = co_await engine.remove_container(std::move(made)); !removed) {
        co_return Result<ContainerId>(removed.error());
    }
    co_return co_await create_node_container(engine, create);
}

} // namespace dockdist
