#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace dockdist {
namespace {

// Two hosts with one of these are one machine for certain.
using EngineKey = std::tuple<std::string, std::string, std::string, std::uint16_t, std::string>;

std::optional<EngineKey> engine_key(const HostDraft& draft) {
    if (!draft.spec.context.empty()) {
        return EngineKey{"context", draft.spec.context, "", 0, ""};
    }
    if (!draft.docker_is_read) {
        return std::nullopt;
    }
    const auto& docker = draft.spec.docker;
    if (docker.by_srun()) {
        const bool podman = docker.scheme == EngineAddress::Scheme::srun_podman;
        return EngineKey{podman ? "srun+podman" : "srun", "", docker.host, 0, docker.path};
    }
    const bool ssh = docker.scheme == EngineAddress::Scheme::ssh;
    const std::uint16_t port = ssh && docker.port.number == 0 ? 22 : docker.port.number;
    return EngineKey{ssh ? "ssh" : docker.host.empty() ? "unix" : "tcp", "", docker.host, port, docker.path};
}

const Value& place_of(const std::optional<Value>& value, const HostDraft& host) {
    return value ? *value : host.at;
}

std::string line_of(const HostDraft& host) {
    return fmt::format("line {}", host.at.place.line);
}

// A name that a node's own machinery uses for something else.
bool is_taken_name(const std::string& name) {
    return name == "localhost" || name == "lock" || name.starts_with("upload.") || name.starts_with("relay.");
}

void check_names(Reader& reader, const ClusterDraft& draft) {
    std::map<std::string, const HostDraft*> hosts;
    std::map<std::string, const HostDraft*> nodes;
    for (const auto& host : draft.hosts) {
        const auto& at = place_of(host.name, host);
        const auto& name = host.spec.name.str();
        if (const auto [first, fresh] = hosts.try_emplace(name, &host); !fresh) {
            reader.error(
                at, fmt::format("the name {} is given to two hosts", in_quotes(name)),
                fmt::format("the first is in {}: give one of them another `name`", line_of(*first->second)));
            continue;
        }
        for (int i = 0; i < host.spec.nodes; ++i) {
            const auto node = node_name(host.spec, i).str();
            if (node.size() > 63) {
                reader.error(at,
                             fmt::format("the node's name {} has more than the 63 bytes of a host name",
                                         in_quotes(node)),
                             "give the host a shorter `name`");
                break;
            }
            if (is_taken_name(node)) {
                reader.error(
                    at,
                    fmt::format("{} cannot be a node's name: it has another meaning there", in_quotes(node)),
                    host.from ? "write the machine's own name in the list" : "give the host another `name`");
            }
            if (const auto [first, fresh] = nodes.try_emplace(node, &host); !fresh) {
                reader.error(at, fmt::format("two nodes would have the name {}", in_quotes(node)),
                             fmt::format("the other one is of the host in {}: rename one host",
                                         line_of(*first->second)));
                break;
            }
        }
    }
}

void check_ports(Reader& reader, const ClusterDraft& draft) {
    if (!draft.spec.ssh.port) {
        return;
    }
    const auto port = draft.spec.ssh.port->number;
    std::map<EngineKey, const HostDraft*> engines;
    std::map<std::string, const HostDraft*> addresses;
    const auto clash = [&](const std::string& first, const std::string& second) {
        reader.error(*draft.ssh_port,
                     fmt::format("the nodes {} and {} are on one machine and cannot share port {}", first,
                                 second, port),
                     "write `port: auto`: each node then takes a free one");
    };
    for (const auto& host : draft.hosts) {
        const auto& name = host.spec.name.str();
        if (host.spec.nodes > 1) {
            clash(node_name(host.spec, 0).str(), node_name(host.spec, 1).str());
            continue;
        }
        const auto key = engine_key(host);
        const HostDraft* other = nullptr;
        if (key) {
            const auto [first, fresh] = engines.try_emplace(*key, &host);
            other = fresh ? nullptr : first->second;
        }
        // With `network.subnet` an address that is only the engine's may be a gateway's.
        const bool peers_use_it = host.address.has_value() || draft.spec.network.subnets.empty();
        if (peers_use_it && !host.spec.address.empty()) {
            const auto [first, fresh] = addresses.try_emplace(host.spec.address, &host);
            other = fresh || other != nullptr ? other : first->second;
        }
        if (other != nullptr && other->spec.name != host.spec.name) {
            clash(node_name(other->spec, 0).str(), name);
        }
    }
}

bool two_share_a_machine(const ClusterDraft& draft) {
    std::set<EngineKey> engines;
    std::set<std::string> addresses;
    return std::ranges::any_of(draft.hosts, [&](const HostDraft& host) {
        const auto key = engine_key(host);
        const bool known = key && !engines.insert(*key).second;
        return host.spec.nodes > 1 || known ||
               (!host.spec.address.empty() && !addresses.insert(host.spec.address).second);
    });
}

// The ranks of a node share one /dev/shm, and one IPC namespace, whichever that is: they are processes of one
// container. The host's own is for the ranks of two nodes on one machine, and shows every node what others
// have there.
void choose_ipc(const Value& root, ClusterDraft& draft) {
    const auto* const container = root.node->find("container");
    const bool given = container != nullptr && container->value->find("ipc") != nullptr;
    if (!given && two_share_a_machine(draft)) {
        draft.spec.container.ipc = "host";
        draft.spec.container.ipc_chosen = true;
    }
}

void check_shares(Reader& reader, const HostDraft& host) {
    const auto& gpus = host.spec.gpus;
    const auto nodes = host.spec.nodes;
    if (nodes == 1 || !host.gpus_are_read || gpus.kind == GpuSpec::Kind::none) {
        return;
    }
    const auto& at = place_of(host.gpus ? host.gpus : host.nodes, host);
    if (gpus.kind == GpuSpec::Kind::all) {
        reader.error(
            at,
            fmt::format("{} nodes cannot share `gpus: all`: it is not known yet how many there are", nodes),
            "write a count, a list of indices, or `none`");
        return;
    }
    const auto count = gpus.kind == GpuSpec::Kind::count ? gpus.count : static_cast<int>(gpus.devices.size());
    if (count % nodes != 0) {
        reader.error(at, fmt::format("{} cannot be shared evenly by {} nodes", counted(count, "GPU"), nodes),
                     fmt::format("make it a multiple of {}", nodes));
    }
}

// What the hosts that share one engine have taken of its GPUs so far.
struct TakenGpus {
    const HostDraft* any = nullptr;
    const HostDraft* all = nullptr;
    std::map<std::string, const HostDraft*> devices{};
};

struct Clash {
    std::string gpus{};
    const HostDraft* with = nullptr; // null: there is none
};

// Indices and UUIDs of one GPU cannot be told to be the same here.
Clash take(TakenGpus& taken, const HostDraft& host) {
    using Kind = GpuSpec::Kind;
    const auto& gpus = host.spec.gpus;
    if (gpus.kind == Kind::none) {
        return {};
    }
    Clash clash;
    if (taken.all != nullptr || (gpus.kind == Kind::all && taken.any != nullptr)) {
        clash = {"all GPUs", taken.all != nullptr ? taken.all : taken.any};
    }
    auto names = gpus.devices;
    for (int i = 0; gpus.kind == Kind::count && i < gpus.count; ++i) { // which they are is chosen at `up`
        names.push_back(std::to_string(i));
    }
    for (const auto& name : names) {
        const auto [first, fresh] = taken.devices.try_emplace(name, &host);
        if (!fresh && clash.with == nullptr) {
            clash = {"GPU " + printable(name), first->second};
        }
    }
    taken.any = &host;
    taken.all = gpus.kind == Kind::all ? &host : taken.all;
    return clash;
}

void check_gpus(Reader& reader, const ClusterDraft& draft) {
    std::map<EngineKey, TakenGpus> engines;
    for (const auto& host : draft.hosts) {
        check_shares(reader, host);
        const auto key = engine_key(host);
        if (!key || !host.gpus_are_read) {
            continue;
        }
        if (const auto clash = take(engines[*key], host); clash.with != nullptr) {
            reader.error(place_of(host.gpus, host),
                         fmt::format("{} of this engine would be used twice: the host in {} has the same one",
                                     clash.gpus, line_of(*clash.with)),
                         "give each its own: `gpus: [0, 1]`, or `gpus: none`");
        }
    }
}

void check_addresses(Reader& reader, const ClusterDraft& draft) {
    std::set<EngineKey> engines;
    for (const auto& host : draft.hosts) {
        if (const auto key = engine_key(host)) {
            engines.insert(*key);
        }
    }
    if (engines.size() < 2) {
        return;
    }
    for (const auto& host : draft.hosts) {
        if (host.address && is_loopback(host.spec.address)) {
            reader.warning(
                *host.address,
                fmt::format("peers on other machines cannot reach {}", in_quotes(host.spec.address)),
                "write the address that they use");
        }
    }
}

// Where the engine is reached is not where the nodes meet; that two engines are one machine it still tells.
void settle_subnets(ClusterDraft& draft) {
    if (draft.spec.network.subnets.empty()) {
        return;
    }
    for (auto& host : draft.hosts) {
        if (!host.address) {
            host.spec.address.clear();
            host.spec.subnets = draft.spec.network.subnets;
        }
    }
}

int count_nodes(const ClusterDraft& draft) {
    int nodes = 0;
    for (const auto& host : draft.hosts) {
        nodes += host.spec.nodes;
    }
    return nodes;
}

// What more nodes than there are cannot be.
void check_counts(Reader& reader, const ClusterDraft& draft) {
    const auto nodes = count_nodes(draft);
    const bool known = !draft.hosts.empty() && draft.hosts_are_known &&
                       std::ranges::all_of(draft.hosts, &HostDraft::nodes_are_read);
    if (known && draft.min_nodes && draft.spec.min_nodes > nodes) {
        reader.error(*draft.min_nodes,
                     fmt::format("there {} {} in all", nodes == 1 ? "is" : "are", counted(nodes, "node")),
                     "write how many of them have to be there");
    }
    if (known && draft.spares && draft.spec.spares >= nodes) {
        reader.error(*draft.spares,
                     fmt::format("of {} {} cannot be spare: none is left to run a job",
                                 counted(nodes, "node"), draft.spec.spares),
                     "add hosts, or keep fewer spare nodes");
    }
}

void check_image_source(Reader& reader, const ClusterDraft& draft) {
    const auto& image = draft.spec.image;
    if ((image.from.empty() && !image.build) || !draft.image) {
        return;
    }
    const std::string source = image.from.empty() ? "build" : "from";
    const bool is_host = std::ranges::any_of(
        draft.hosts, [&](const HostDraft& host) { return host.spec.name.str() == image.from; });
    if (!image.from.empty() && image.from != "local" && !is_host && draft.hosts_are_known) {
        reader.error(*draft.image, fmt::format("`from` names no host: {}", in_quotes(image.from)),
                     "write `local` for this machine's engine, or the name of one of `hosts`");
    }
    if (image.ref.str().find('@') != std::string::npos) {
        reader.error(*draft.image, "an image that is named by its digest can only come from a registry",
                     "name it by a tag, or leave out `" + source + "`");
    }
    if (image.pull == ImageSpec::Pull::always) {
        reader.error(*draft.image, "`pull: always` asks a registry, and `" + source + "` needs none",
                     "keep one of them");
    }
}

void check_data(Reader& reader, const ClusterDraft& draft) {
    for (std::size_t i = 0; i < draft.data.size(); ++i) {
        const auto& host = draft.spec.data[i].host;
        if (!host.empty() && draft.hosts_are_known &&
            std::ranges::none_of(draft.hosts,
                                 [&](const HostDraft& each) { return each.spec.name.str() == host; })) {
            reader.error(
                draft.data[i], fmt::format("`from` names no host: {}", in_quotes(host)),
                "write HOST:/path with the name of one of `hosts`, or `./path` for one of this machine");
        }
    }
}

// Whether an unknown key was probably meant for `key`: then that one mistake is told already.
bool is_misspelt(const Value& root, std::string_view key) {
    std::vector<std::string_view> known;
    std::ranges::transform(cluster_keys(), std::back_inserter(known), &Key<ClusterDraft>::name);
    return std::ranges::any_of(root.node->entries, [&](const YamlEntry& entry) {
        return std::ranges::find(known, entry.key) == known.end() && nearest(entry.key, known) == key;
    });
}

} // namespace

void check_cluster(Reader& reader, const Value& root, ClusterDraft& draft) {
    if (!draft.image && !is_misspelt(root, "image")) {
        reader.error(root, "`image` is missing",
                     "write `image: REPOSITORY:TAG`, the image that training runs in");
    }
    if (!draft.hosts_at && !is_misspelt(root, "hosts")) {
        HostDraft host{.at = root}; // the one that the docker command line itself would use
        host.spec.name = HostName("node-0");
        host.spec.use_current_context = true;
        draft.hosts.push_back(std::move(host));
    } else if (draft.hosts_at && draft.hosts_at->node->kind != YamlNode::Kind::scalar &&
               draft.hosts_at->node->kind != YamlNode::Kind::map && draft.hosts.empty() &&
               draft.hosts_are_known) {
        reader.error(*draft.hosts_at, "the list is empty", "add `- ssh://USER@HOST` for each machine");
    }
    if (const auto nodes = count_nodes(draft); nodes > most_cluster_nodes) {
        reader.error(*draft.hosts_at, fmt::format("{} nodes are more than the {} that a cluster may have",
                                                  nodes, most_cluster_nodes));
        return; // what else is wrong with each would take long
    }
    name_hosts(draft);
    choose_ipc(root, draft);
    check_names(reader, draft);
    check_ports(reader, draft);
    check_gpus(reader, draft);
    check_addresses(reader, draft);
    check_counts(reader, draft);
    settle_groups(reader, draft);
    check_image_source(reader, draft);
    check_data(reader, draft);
    settle_subnets(draft);
}

} // namespace dockdist
