#include "shared/rdma/fabric.hpp"

#include "shared/core/subnet.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace dockdist::rdma {
namespace {

constexpr std::array<const char*, 3> links{"InfiniBand", efa, "Ethernet"}; // where all else is equal
constexpr int usual_ipv6_prefix = 64;

std::string network_of(const wire::RdmaGid& gid) {
    const bool ipv6 = gid.address.find(':') != std::string::npos;
    const int prefix = gid.prefix > 0 ? gid.prefix : ipv6 ? usual_ipv6_prefix : 0;
    const auto subnet = prefix > 0 ? read_subnet(gid.address + "/" + std::to_string(prefix)) : std::nullopt;
    return subnet ? to_text(*subnet) : std::string();
}

struct Choice {
    std::string network{};
    int gid = -1;
};
std::vector<Choice> networks_of(const wire::RdmaPort& port) {
    std::vector<Choice> choices;
    int link_local = -1;
    if (port.link == "InfiniBand" && !port.prefix.empty()) {
        choices.push_back({port.prefix, -1});
    }
    for (std::size_t i = 0; port.link == "Ethernet" && i < port.gids.size(); ++i) {
        if (!wire::is_link_local(port.gids[i])) {
            choices.push_back({network_of(port.gids[i]), static_cast<int>(i)});
        } else if (link_local < 0) {
            link_local = static_cast<int>(i);
        }
    }
    if (choices.empty() && link_local >= 0) {
        choices.push_back({"", link_local}); // two machines and a cable: nobody knows, and that is the GID
    }
    return choices;
}

// Of a node, by place: those that may still be used.
using Places = std::vector<std::size_t>;

class Judge {
public:
    explicit Judge(const std::vector<wire::NodeRecord>& records) {
        for (const auto& record : records) {
            auto& node = fabric_.nodes.emplace_back();
            node.name = record.node;
            node.interface = record.interface;
            node.gpus = record.gpus;
            node.record = record.rdma;
            addresses_.push_back(record.address);
            for (const auto& port : record.rdma.ports) {
                node.ports.push_back({.port = port});
            }
        }
    }

    Fabric judge() && {
        for (auto& node : fabric_.nodes) {
            open_.push_back(usable(node));
        }
        choose_link();
        leave_out_slow();
        for (std::size_t i = 0; i < open_.size(); ++i) {
            leave_out_without_address(i);
        }
        choose_networks();
        for (std::size_t i = 0; i < open_.size(); ++i) {
            for (const auto place : open_[i]) {
                fabric_.nodes[i].ports[place].used = true;
            }
            fabric_.nodes[i].lacks = what_lacks(fabric_.nodes[i]);
        }
        return std::move(fabric_);
    }

private:
    Port& port(std::size_t node, std::size_t place) { return fabric_.nodes[node].ports[place]; }

    // `why` says of a port of the node why it is left out; empty: it is not.
    template <class Why>
    void leave_out(std::size_t node, Why why) {
        std::erase_if(open_[node], [&](std::size_t place) {
            auto& one = port(node, place);
            one.why = why(one.port);
            return !one.why.empty();
        });
    }

    // What is so whatever the other nodes have.
    static Places usable(Node& node) {
        Places open;
        for (std::size_t i = 0; i < node.ports.size(); ++i) {
            auto& one = node.ports[i];
            const auto whole = std::ranges::find_if(
                node.ports, [&](const Port& other) { return wire::stands_for(other.port, one.port); });
            if (!is_active(one.port)) {
                one.why = one.port.state.empty() ? "its state is not known" : "it is " + one.port.state;
            } else if (one.port.link == "iWARP") {
                one.why = "it speaks iWARP, which NCCL does not";
            } else if (std::ranges::find(links, one.port.link) == links.end()) {
                one.why = "its link is " + (one.port.link.empty() ? "not known" : one.port.link);
            } else if (whole != node.ports.end()) {
                one.why = "a virtual function of " + whole->port.device;
            } else if (node.record.use == "off") {
                one.why = "`network.rdma` is off";
            } else if (!node.record.inside) {
                one.why = "/dev/infiniband is not in the container";
            } else if (one.port.outside) {
                one.why = "its file in /dev/infiniband is not in the container";
            } else {
                open.push_back(i);
            }
        }
        return open;
    }

    // NCCL goes over one: the one that most nodes have, of these the one with the most bandwidth.
    void choose_link() {
        std::size_t most = 0;
        std::int64_t widest = 0;
        for (const auto* link : links) {
            std::size_t count = 0;
            std::int64_t narrowest = 0;
            for (std::size_t i = 0; i < open_.size(); ++i) {
                std::int64_t sum = 0;
                bool has = false;
                for (const auto place : open_[i]) {
                    if (port(i, place).port.link == link) {
                        has = true;
                        sum += port(i, place).port.mbps;
                    }
                }
                narrowest = has ? (count == 0 ? sum : std::min(narrowest, sum)) : narrowest;
                count += has ? 1 : 0;
            }
            if (count > most || (count == most && narrowest > widest)) {
                most = count;
                widest = narrowest;
                fabric_.link = count > 0 ? link : "";
            }
        }
        for (std::size_t i = 0; i < open_.size(); ++i) {
            leave_out(i, [&](const wire::RdmaPort& one) {
                return one.link == fabric_.link ? std::string()
                                                : "its link is " + link_text(one.link) +
                                                      ", and the nodes go over " + link_text(fabric_.link);
            });
        }
    }

    std::int64_t fastest_of(std::size_t node) {
        std::int64_t fastest = 0;
        for (const auto place : open_[node]) {
            fastest = std::max(fastest, port(node, place).port.mbps);
        }
        return fastest;
    }

    // Measured by what every node has: where a node's fast ports are down, the slow ones are what is left.
    void leave_out_slow() {
        std::optional<std::int64_t> of_all;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            if (!open_[i].empty()) {
                of_all = std::min(of_all.value_or(fastest_of(i)), fastest_of(i));
            }
        }
        for (std::size_t i = 0; i < open_.size(); ++i) {
            const auto fastest = std::min(fastest_of(i), of_all.value_or(0));
            leave_out(i, [&](const wire::RdmaPort& one) -> std::string {
                const auto speeds = rate_text(one.mbps) + ", where others have " + rate_text(fastest);
                if (one.mbps > 0 && one.mbps * 2 < fastest) {
                    return "slow: " + speeds;
                }
                if (one.mbps > 0 && one.mbps < fastest && has_own_address(i, one)) {
                    return "it has the node's own address: " + speeds;
                }
                return "";
            });
        }
    }

    bool has_own_address(std::size_t node, const wire::RdmaPort& one) const {
        return (!one.netdev.empty() && one.netdev == fabric_.nodes[node].interface) ||
               std::ranges::find(one.gids, addresses_[node], &wire::RdmaGid::address) != one.gids.end();
    }

    void leave_out_without_address(std::size_t node) {
        if (fabric_.link != "Ethernet") {
            return;
        }
        const bool any = std::ranges::any_of(
            open_[node], [&](std::size_t place) { return wire::has_address(port(node, place).port); });
        std::vector<std::pair<std::string, std::string>> seen; // address, and the device that has it
        leave_out(node, [&](const wire::RdmaPort& one) -> std::string {
            const auto choices = networks_of(one);
            if (!wire::has_address(one)) {
                const auto why = one.bond.empty()
                                     ? std::string("it has no address but a link-local one")
                                     : "its interface is a part of " + one.bond + " and has no address";
                return any ? why : std::string();
            }
            for (const auto& choice : choices) {
                const auto& address = one.gids[static_cast<std::size_t>(choice.gid)].address;
                const auto other =
                    std::ranges::find(seen, address, &std::pair<std::string, std::string>::first);
                if (other != seen.end()) {
                    return "it has the address of " + other->second + ", as parts of a bond do";
                }
            }
            for (const auto& choice : choices) {
                seen.emplace_back(one.gids[static_cast<std::size_t>(choice.gid)].address, port_name(one));
            }
            return "";
        });
    }

    std::set<std::string> networks_of_node(std::size_t node) {
        std::set<std::string> networks;
        for (const auto place : open_[node]) {
            for (const auto& choice : networks_of(port(node, place).port)) {
                networks.insert(choice.network);
            }
        }
        networks.erase("");
        return networks;
    }

    void choose_networks() {
        std::size_t nodes = 0; // what is not known speaks against none
        for (std::size_t i = 0; i < open_.size(); ++i) {
            const auto networks = networks_of_node(i);
            nodes += networks.empty() ? 0 : 1;
            for (const auto& network : networks) {
                ++nodes_in_[network];
            }
        }
        for (std::size_t i = 0; i < open_.size(); ++i) {
            for (const auto place : open_[i]) {
                for (const auto& choice : networks_of(port(i, place).port)) {
                    const auto with = nodes_in_.find(choice.network);
                    if (with != nodes_in_.end() && with->second == nodes &&
                        std::ranges::find(fabric_.networks, choice.network) == fabric_.networks.end()) {
                        fabric_.networks.push_back(choice.network);
                    }
                }
            }
        }
        if (most_is_beside_shared()) {
            fabric_.networks.clear();
        }
        fabric_.apart = nodes > 1 && fabric_.networks.empty();
        for (std::size_t i = 0; i < open_.size(); ++i) {
            leave_out(i, [&](const wire::RdmaPort& one) { return place_in_network(i, one); });
        }
    }

    // Every node has more bandwidth in networks of its own than in the shared ones: these are for storage,
    // say, and the others are routed.
    bool most_is_beside_shared() {
        bool any = false;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            std::int64_t inside = 0;
            std::int64_t beside = 0;
            for (const auto place : open_[i]) {
                const auto choices = networks_of(port(i, place).port);
                const bool shared = std::ranges::any_of(choices, [&](const Choice& choice) {
                    return std::ranges::find(fabric_.networks, choice.network) != fabric_.networks.end();
                });
                const bool known = !choices.empty() && !choices.front().network.empty();
                inside += shared ? port(i, place).port.mbps : 0;
                beside += !shared && known ? port(i, place).port.mbps : 0;
            }
            if (!open_[i].empty() && beside <= inside) {
                return false;
            }
            any = any || !open_[i].empty();
        }
        return any;
    }

    // Sets the network and the GID of the port; else says why it is left out.
    std::string place_in_network(std::size_t node, const wire::RdmaPort& one) {
        auto& judged = *std::ranges::find_if(fabric_.nodes[node].ports,
                                             [&](const Port& other) { return &other.port == &one; });
        const auto choices = networks_of(one);
        const auto take = [&](const Choice& choice) {
            judged.network = choice.network;
            judged.gid = choice.gid;
            return std::string();
        };
        for (const auto& network : fabric_.networks) {
            const auto choice = std::ranges::find(choices, network, &Choice::network);
            if (choice != choices.end()) {
                return take(*choice);
            }
        }
        if (choices.empty()) {
            return "";
        }
        if (fabric_.networks.empty() || choices.front().network.empty()) {
            return take(choices.front());
        }
        judged.network = choices.front().network;
        const auto with = nodes_in_[judged.network];
        return with < 2 ? "no other node has a port in " + judged.network
                        : "only " + std::to_string(with) + " nodes have a port in " + judged.network;
    }

    static std::string what_lacks(const Node& node) {
        if (node.record.cut || std::ranges::any_of(node.ports, &Port::used)) {
            return "";
        }
        if (node.ports.empty()) {
            return "it has no RDMA device";
        }
        return port_name(node.ports.front().port) + ": " + node.ports.front().why +
               (node.ports.size() > 1 ? " (and no other port is of use)" : "");
    }

    Fabric fabric_{};
    std::vector<std::string> addresses_{};
    std::vector<Places> open_{};
    std::map<std::string, std::size_t> nodes_in_{}; // by network
};

} // namespace

Fabric judge(const std::vector<wire::NodeRecord>& nodes) {
    return Judge(nodes).judge();
}

std::string port_name(const wire::RdmaPort& port) {
    return port.device + ":" + std::to_string(port.port);
}

std::string rate_text(std::int64_t mbps) {
    if (mbps <= 0) {
        return "at no known rate";
    }
    const auto tenths = mbps % 1000 / 100;
    return std::to_string(mbps / 1000) + (tenths == 0 ? "" : "." + std::to_string(tenths)) + " Gb/sec";
}

std::string link_text(const std::string& link) {
    return link == "Ethernet" ? "RoCE" : link;
}

bool is_active(const wire::RdmaPort& port) {
    return port.state == "ACTIVE";
}

bool is_of_nccl(const wire::RdmaPort& port) {
    return std::ranges::find(links, port.link) != links.end();
}

const wire::RdmaGid* gid_of(const Port& port) {
    return port.gid < 0 ? nullptr : &port.port.gids[static_cast<std::size_t>(port.gid)];
}

} // namespace dockdist::rdma
