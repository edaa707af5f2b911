#include "shared/rdma/variables.hpp"

#include "shared/core/number.hpp"
#include "shared/core/subnet.hpp"
#include "shared/core/text.hpp"
#include "shared/rdma/cabling.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace dockdist::rdma {
namespace {

// What is no version, or as much of one as is not there, is new enough.
bool is_at_least(std::string_view version, const std::array<int, 3>& first) {
    const auto parts = split(version, '.');
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto number = i < parts.size() ? whole_number<int>(parts[i]) : std::nullopt;
        if (!number) {
            return true;
        }
        if (*number != first[i]) {
            return *number > first[i];
        }
    }
    return true;
}

bool is_ipv6(const wire::RdmaGid& gid) {
    return gid.address.find(':') != std::string::npos;
}

// What NCCL tells its search for a GID: the first one of RoCE v2 with an address of this family, in this
// range (ncclIbGetGidIndex in its transport/net_ib).
struct Search {
    bool ipv6 = false;
    std::string range{}; // CIDR; empty: any
};
const wire::RdmaGid* found_by(const Search& search, const wire::RdmaPort& port) {
    const auto range = read_subnet(search.range);
    const auto found = std::ranges::find_if(port.gids, [&](const wire::RdmaGid& gid) {
        return is_ipv6(gid) == search.ipv6 && (!range || holds(*range, gid.address));
    });
    return found == port.gids.end() ? nullptr : &*found;
}

// How the right GIDs are come by, on all nodes alike.
enum class Way { none, family, range, index, unsettled };

// The used ports of a node that have a GID to choose.
struct Chosen {
    std::vector<const Port*> ports{};
    std::string range{}; // holds all their addresses
    bool ipv6 = false;
    std::optional<int> index{}; // the same of all; empty: they differ
};

Chosen chosen_of(const Node& node) {
    Chosen chosen;
    std::vector<std::string> addresses;
    std::vector<std::string> networks;
    for (const auto& port : node.ports) {
        const auto* gid = port.used ? gid_of(port) : nullptr;
        if (gid == nullptr) {
            continue;
        }
        const bool same = chosen.ports.empty() || chosen.index == gid->index;
        chosen.index = same ? std::optional(gid->index) : std::nullopt;
        chosen.ports.push_back(&port);
        chosen.ipv6 = is_ipv6(*gid);
        addresses.push_back(gid->address);
        networks.push_back(port.network);
    }
    const bool one = std::ranges::adjacent_find(networks, std::not_equal_to<>()) == networks.end();
    if (one && !networks.empty() && !networks.front().empty()) {
        chosen.range = networks.front();
    } else if (const auto subnet = narrowest_subnet(addresses)) {
        chosen.range = to_text(*subnet);
    }
    return chosen;
}

// Whether the search finds on every port the GID that was chosen.
bool finds(const std::vector<Chosen>& nodes, bool ipv6, bool with_range) {
    return std::ranges::all_of(nodes, [&](const Chosen& node) {
        const Search search{.ipv6 = ipv6, .range = with_range ? node.range : ""};
        return (!with_range || !node.range.empty() || node.ports.empty()) &&
               std::ranges::all_of(node.ports, [&](const Port* port) {
                   return found_by(search, port->port) == gid_of(*port);
               });
    });
}

bool has_several_indices(const Chosen& node) {
    return !node.ports.empty() && !node.index;
}

Way way_to_gids(const std::vector<Chosen>& nodes, bool old_nccl) {
    if (std::ranges::all_of(nodes, [](const Chosen& node) { return node.ports.empty(); })) {
        return Way::none;
    }
    if (!old_nccl) {
        const auto with = std::ranges::find_if(nodes, [](const Chosen& node) { return !node.ports.empty(); });
        if (finds(nodes, false, false)) {
            return Way::none;
        }
        if (with->ipv6 && finds(nodes, true, false)) {
            return Way::family;
        }
        if (finds(nodes, with->ipv6, true)) {
            return Way::range;
        }
    }
    return std::ranges::none_of(nodes, has_several_indices) ? Way::index : Way::unsettled;
}

// Of the first node that has several.
std::string indices_text(const std::vector<Node>& nodes, const std::vector<Chosen>& chosen) {
    const auto first = std::ranges::find_if(chosen, has_several_indices);
    std::string list;
    for (const auto* port : first->ports) {
        list += (list.empty() ? "" : ", ") + port_name(port->port) + " has its own at " +
                std::to_string(gid_of(*port)->index);
    }
    const auto& node = *std::next(nodes.begin(), first - chosen.begin());
    return "NCCL takes one GID index for all ports of a node, and on " + node.name + " " + list;
}

std::string list_of(const Node& node) {
    std::string list;
    for (const auto& port : node.ports) {
        if (port.used) {
            list += (list.empty() ? "" : ",") + port_name(port.port);
        }
    }
    return list;
}

constexpr int nccl_s_prefix = 24; // NCCL_IB_SUBNET_PREFIX_LEN, unless it is told another

class Teller {
public:
    Teller(const Fabric& fabric, Settings& out) : fabric_(fabric), out_(out) {
        for (const auto& node : fabric.nodes) {
            chosen_.push_back(chosen_of(node));
            old_ = old_ || !finds_gids(node.record.nccl);
            if (node.record.cut && cut_.empty()) {
                cut_ = node.name;
            }
        }
        way_ = way_to_gids(chosen_, old_);
        // The others' own searches are those of a new NCCL, without its variables.
        odd_ = way_ != Way::unsettled && std::ranges::none_of(chosen_, has_several_indices) &&
               !finds(chosen_, false, false);
        if (way_ == Way::unsettled) {
            out_.unsettled = indices_text(fabric.nodes, chosen_);
            out_.hint = "set NCCL_IB_GID_INDEX in `hosts[].env` and the ports in NCCL_IB_HCA, or remove the "
                        "addresses that are not for the cluster; NCCL 2.21 and newer chooses by port";
        }
        judge_cabling();
        if (!cut_.empty()) {
            out_.unsettled = cut_ +
                             " has more RDMA ports and addresses than a cluster of this size has room for: "
                             "jobs are told of no ports, and choose for themselves";
            out_.hint = "set NCCL_IB_HCA in `container.env` or `hosts[].env`";
        }
    }

    void tell(std::size_t place) {
        const auto& node = fabric_.nodes[place];
        auto& list = out_.nodes[place];
        const auto set = [&](const char* name, std::string value, std::string why) {
            list.push_back({name, std::move(value), std::move(why)});
        };
        if (node.record.use == "off") {
            return set("NCCL_IB_DISABLE", "1", "`network.rdma` is off");
        }
        if (node.record.use == "required" && fabric_.link != efa) {
            set("NCCL_NET", "IB", "`network.rdma` is required: rather fail than go over sockets");
        }
        const auto ports = list_of(node);
        if (ports.empty() || !cut_.empty()) {
            return;
        }
        if (fabric_.link == efa) {
            // Without it libfabric takes EFA first, and what the image's libfabric has no EFA for goes on.
            if (node.record.use == "required") {
                set("FI_PROVIDER", "efa",
                    "`network.rdma` is required: NCCL reaches EFA through libfabric, which must take no "
                    "other");
            }
            return;
        }
        const auto why = std::string("the ports that are used");
        set("NCCL_IB_HCA", "=" + ports, why); // '=': these very names, not prefixes
        // Less would keep UCX from an interface where its build knows no verbs.
        set("UCX_NET_DEVICES", node.record.use == "required" ? ports : ports + "," + node.interface, why);
        // Also where nothing is left out: PyTorch would copy NCCL's list, with a '=' that NVSHMEM does not
        // know.
        set("NVSHMEM_HCA_LIST", ports, why);
        if (may_map(node)) {
            set("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1", "else NVSHMEM takes the nearest port, used or not");
        }
        tell_gids(chosen_[place], set);
        if (cabling_.direct) {
            const std::string of_cables = "each two nodes have a network of their own, a cable";
            set("NCCL_IB_SUBNET_AWARE_ROUTING", "1", of_cables);
            set("NCCL_IB_MERGE_NICS", "0", of_cables);
            set("NCCL_NET_PLUGIN", "none", of_cables);
            if (cabling_.prefix != 0 && cabling_.prefix != nccl_s_prefix) {
                set("NCCL_IB_SUBNET_PREFIX_LEN", std::to_string(cabling_.prefix), of_cables);
            }
        }
        const auto& yours = node.record.yours;
        const auto left_out = not_for([&](std::string_view name) { return has(yours, name); });
        std::erase_if(list, [&](const Variable& variable) { return has(left_out, variable.name); });
    }

private:
    static bool has(const std::vector<std::string>& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    }

    // Newer versions of NVSHMEM heed the list only where it maps, and then the first process of a node gets
    // the first port, whichever is near to its GPU: well where each GPU has a port.
    static bool may_map(const Node& node) {
        const auto used = std::ranges::count_if(node.ports, &Port::used);
        return (used == 1 || used == node.gpus) && std::ranges::any_of(node.ports, [](const Port& port) {
                   return !port.used && is_active(port.port);
               });
    }

    void judge_cabling() {
        cabling_ = cabling_of(fabric_);
        if (!cabling_.direct) {
            return;
        }
        const auto old = std::ranges::find_if(
            fabric_.nodes, [](const Node& node) { return !is_at_least(node.record.nccl, {2, 30, 5}); });
        if (old != fabric_.nodes.end()) {
            out_.unsettled = "the nodes are cabled to each other, and NCCL " + old->record.nccl + " of " +
                             old->name + " does not look which port leads to which node";
            out_.hint = "take an image with NCCL 2.30.5 or newer, connect the nodes by a switch, or write "
                        "`network: {rdma: off}`";
        } else if (!cabling_.apart.empty()) {
            out_.unsettled = "no cable joins " + cabling_.apart + ", and NCCL reaches only neighbours";
            out_.hint =
                "write the hosts in the order of the cables, and NCCL_ALGO: Ring in `container.env`; or "
                "connect the nodes by a switch";
        }
    }

    template <class Set>
    void tell_gids(const Chosen& chosen, Set set) const {
        if (chosen.ports.empty()) {
            return;
        }
        const std::string several = "the first GID of RoCE v2 is not that of the shared network";
        if ((way_ == Way::family || way_ == Way::range) && chosen.ipv6) {
            set("NCCL_IB_ADDR_FAMILY", "AF_INET6", "the ports have addresses of IPv6");
        }
        if (way_ == Way::range) {
            set("NCCL_IB_ADDR_RANGE", chosen.range, several);
        }
        if (way_ == Way::index) {
            set("NCCL_IB_GID_INDEX", std::to_string(*chosen.index),
                old_ ? "the node's GID of RoCE v2: this NCCL is older than 2.21 and does not find it"
                     : several);
        }
        if (odd_) {
            set("UCX_IB_GID_INDEX", std::to_string(*chosen.index), several);
            set("NVSHMEM_IB_GID_INDEX", std::to_string(*chosen.index), several);
        }
    }

    const Fabric& fabric_;
    Settings& out_;
    std::vector<Chosen> chosen_{};
    Cabling cabling_{};
    Way way_ = Way::none;
    bool old_ = false;  // the NCCL of a node
    bool odd_ = false;  // others than NCCL need an index, too
    std::string cut_{}; // a node that has more ports than its record
};

} // namespace

Settings settings(const Fabric& fabric) {
    Settings found;
    found.nodes.resize(fabric.nodes.size());
    Teller teller(fabric, found);
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        teller.tell(i);
    }
    return found;
}

std::vector<std::string> not_for(const std::function<bool(std::string_view name)>& is_yours) {
    std::vector<std::string> names;
    for (const auto& choice : port_choices) {
        for (const auto* name : choice.follow) {
            if (name != nullptr && is_yours(choice.ports) && !is_yours(name)) {
                names.emplace_back(name);
            }
        }
    }
    return names;
}

bool is_told(const std::vector<wire::NodeRecord>& nodes, std::string_view name, std::string_view value) {
    const bool is_yours = std::ranges::any_of(nodes, [&](const wire::NodeRecord& node) {
        return std::ranges::find(node.rdma.yours, name) != node.rdma.yours.end();
    });
    if (is_yours) {
        return true;
    }
    const auto all = settings(judge(nodes)).nodes;
    return std::ranges::any_of(all, [&](const auto& list) {
        return std::ranges::any_of(
            list, [&](const Variable& variable) { return variable.name == name && variable.value == value; });
    });
}

bool finds_gids(std::string_view nccl_version) {
    return is_at_least(nccl_version, {2, 21, 0});
}

} // namespace dockdist::rdma
