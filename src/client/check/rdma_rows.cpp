#include "client/check/rdma_rows.hpp"

#include "client/check/compare.hpp"
#include "shared/core/text.hpp"
#include "shared/rdma/cabling.hpp"
#include "shared/rdma/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dockdist {
namespace {

using State = CheckRow::State;

constexpr const char* join_again =
    "`dockdist down`, then `dockdist up`: the nodes look at their ports when they join";

void tell(CheckRow& row, State state, std::string text, std::string hint) {
    row.state = state;
    row.text = std::move(text);
    row.hint = std::move(hint);
}

// The records with what the nodes have now.
std::vector<wire::NodeRecord> as_it_is_now(const RdmaFacts& facts) {
    auto records = facts.records;
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (const auto& system = facts.nodes[i].facts.system) {
            records[i].rdma.ports = system->rdma;
            records[i].rdma.inside = system->rdma_inside;
        }
    }
    return records;
}

// "mlx5_[0-7] InfiniBand 400 Gb/sec, mlx5_8 RoCE 100 Gb/sec in 10.1.0.0/24".
std::string used_text(const rdma::Node& node) {
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
    for (const auto& port : node.ports) {
        if (!port.used) {
            continue;
        }
        const bool has_subnet = port.port.prefix.empty() && !port.network.empty();
        const auto kind =
            fmt::format("{} {}{}", rdma::link_text(port.port.link), rdma::rate_text(port.port.mbps),
                        has_subnet ? " in " + port.network : "");
        auto known = std::ranges::find(kinds, kind, &std::pair<std::string, std::vector<std::string>>::first);
        if (known == kinds.end()) {
            known = kinds.insert(kinds.end(), {kind, {}});
        }
        known->second.push_back(port.port.port == 1 ? port.port.device : rdma::port_name(port.port));
    }
    std::string text;
    for (const auto& [kind, names] : kinds) {
        text += (text.empty() ? "" : ", ") + list_names(names) + " " + kind;
    }
    return text;
}

std::string left_out_text(const rdma::Node& node) {
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const auto& port : node.ports) {
        if (port.used) {
            continue;
        }
        auto known =
            std::ranges::find(reasons, port.why, &std::pair<std::string, std::vector<std::string>>::first);
        if (known == reasons.end()) {
            known = reasons.insert(reasons.end(), {port.why, {}});
        }
        known->second.push_back(port.port.port == 1 ? port.port.device : rdma::port_name(port.port));
    }
    std::string text;
    for (const auto& [why, names] : reasons) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", list_names(names), why);
    }
    return text;
}

bool uses_any(const rdma::Node& node) {
    return std::ranges::any_of(node.ports, &rdma::Port::used);
}

// Of a machine whose cards were never cabled it is no fault; of one that joined with a link it is.
CheckRow judge_ports(const rdma::Node& node, const rdma::Node& joined) {
    CheckRow row{.layer = CheckLayer::host, .subject = node.name, .check = "rdma"};
    const auto left_out = left_out_text(node);
    const auto has = [&](auto is_so) { return std::ranges::any_of(node.ports, is_so); };
    if (node.record.use == "off") {
        tell(row, State::pass, "RDMA is not used: `network.rdma` is off", "");
    } else if (!has([](const rdma::Port& port) { return rdma::is_of_nccl(port.port); })) {
        row.text = "no RDMA that NCCL can use: " + left_out;
    } else if (!has([](const rdma::Port& port) { return rdma::is_active(port.port); })) {
        tell(row, uses_any(joined) ? State::fail : State::warn, "no RDMA port has a link: " + left_out,
             "NCCL goes over TCP. If they are to be used, look at cables and switch, `ibstat` on the host; "
             "if not, set `network: {rdma: off}`");
    } else if (!node.record.inside) {
        tell(row, State::warn, "the host has RDMA devices, and the container has no /dev/infiniband",
             "leave `container.devices` at auto, or add /dev/infiniband to it, then `dockdist up`");
    } else if (!uses_any(node)) {
        tell(row, State::warn, "the cluster cannot use any RDMA port: " + left_out,
             "NCCL goes over TCP: give the ports addresses in a network that all nodes share, take the node "
             "out of the file, or set `network: {rdma: off}`");
    } else {
        row.text = "RDMA: " + used_text(node) + (left_out.empty() ? "" : "; left out: " + left_out);
    }
    return row;
}

// What jobs are told, by the nodes' records; and whether it still is what they should be told: what they
// would be if the nodes joined now.
std::vector<CheckRow> judge_variables(const RdmaFacts& facts, const rdma::Fabric& joined) {
    auto records = as_it_is_now(facts);
    for (auto& record : records) {
        wire::shorten(record.rdma, wire::room_for_rdma(records.size()));
    }
    const auto told = rdma::settings(joined);
    const auto wanted = rdma::settings(rdma::judge(records));
    std::vector<CheckRow> rows;
    for (std::size_t i = 0; i < joined.nodes.size(); ++i) {
        const auto& node = joined.nodes[i];
        const auto& yours = node.record.yours;
        CheckRow row{.layer = CheckLayer::container, .subject = node.name, .check = "rdma-variables"};
        std::string changed;
        for (const auto& [name, value, why] : told.nodes[i]) {
            const bool own = std::ranges::find(yours, name) != yours.end();
            row.text += fmt::format("{}{}", row.text.empty() ? "" : "; ",
                                    own ? name + " is yours" : name + "=" + value);
            const auto& list = wanted.nodes[i];
            const auto other = std::ranges::find(list, name, &rdma::Variable::name);
            if (!own && (other == list.end() || other->value != value)) {
                changed += fmt::format("{}{}", changed.empty() ? "" : "; ",
                                       other == list.end() ? name + " not set" : name + "=" + other->value);
            }
        }
        for (const auto& variable : wanted.nodes[i]) {
            const bool own = std::ranges::find(yours, variable.name) != yours.end();
            if (!own && std::ranges::find(told.nodes[i], variable.name, &rdma::Variable::name) ==
                            told.nodes[i].end()) {
                changed += fmt::format("{}{}={}", changed.empty() ? "" : "; ", variable.name, variable.value);
            }
        }
        if (!changed.empty()) {
            tell(row, State::warn,
                 fmt::format("the ports have changed since the node joined: jobs get {}; right would be {}",
                             row.text.empty() ? "no variables" : row.text, changed),
                 join_again);
        }
        if (!row.text.empty()) {
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

class RdmaFabricJudge {
public:
    explicit RdmaFabricJudge(const rdma::Fabric& fabric) : fabric_(fabric) {
        for (const auto& node : fabric.nodes) {
            if (!node.ports.empty()) {
                with_.push_back(&node);
            }
        }
    }

    std::vector<CheckRow> rows() && {
        judge_nodes();
        if (fabric_.nodes.size() < 2 || fabric_.link.empty()) {
            return std::move(rows_);
        }
        judge_devices();
        judge_links();
        judge_rates();
        judge_networks();
        judge_lost_networks();
        if (rows_.empty()) {
            add("all nodes", State::pass, pass_text(), "");
        }
        return std::move(rows_);
    }

private:
    void add(std::string subject, State state, std::string text, std::string hint) {
        rows_.push_back({.state = state,
                         .layer = CheckLayer::network,
                         .subject = std::move(subject),
                         .check = "rdma-fabric",
                         .text = std::move(text),
                         .hint = std::move(hint)});
    }

    static std::string names_text(const std::set<std::string>& names) {
        return list_names(std::vector(names.begin(), names.end()));
    }

    // A virtual function beside its physical one: how many there are, and which have a link, is the host's
    // affair.
    static bool is_part(const rdma::Node& node, const rdma::Port& part) {
        return !part.port.part_of.empty() && std::ranges::any_of(node.ports, [&](const auto& other) {
            return other.port.pci == part.port.part_of;
        });
    }

    // Those without a port that is used, where others have one or all must.
    void judge_nodes() {
        for (const auto& node : fabric_.nodes) {
            if (node.lacks.empty()) {
                continue;
            }
            if (node.record.use == "required") {
                add(node.name, State::fail,
                    "`network.rdma` is required, and no port of this node can be used: " + node.lacks,
                    "fix its ports, then `dockdist down` and `dockdist up`; until then no job starts on it");
            } else if (!fabric_.link.empty()) {
                add(node.name, State::warn,
                    "the other nodes have RDMA, and this one goes over TCP: " + node.lacks,
                    "one node without RDMA keeps every job that it is in from using it: fix its ports, or "
                    "leave it out (`dockdist run --exclude`)");
            }
        }
    }

    void judge_devices() {
        std::vector<std::pair<std::string, std::string>> values;
        std::map<std::string, std::set<std::string>> ports;
        for (const auto* node : with_) {
            std::string list;
            for (const auto& port : node->ports) {
                if (!is_part(*node, port)) {
                    ports[node->name].insert(rdma::port_name(port.port));
                }
            }
            for (const auto& port : ports[node->name]) {
                list += port + " ";
            }
            values.emplace_back(node->name, list);
        }
        const auto odd = find_odd(values);
        if (odd.with_common.size() <= values.size() / 2 && values.size() > 2) {
            return; // machines of many kinds
        }
        for (const auto& [unused, who] : odd.others) {
            const auto& common = ports[odd.with_common.front()];
            std::vector<std::string> missing;
            std::ranges::set_difference(common, ports[who.front()], std::back_inserter(missing));
            const bool other_names = missing.size() == common.size(); // a machine of another kind
            if (!missing.empty() && !other_names) {
                add(list_names(who), State::warn,
                    fmt::format("{} not there, as on {}",
                                list_names(missing) + (missing.size() == 1 ? " is" : " are"),
                                list_names(odd.with_common)),
                    "a card that has fallen off its bus, or a driver that has not come up: `lspci`, `dmesg` "
                    "and `rdma link` on the host");
            }
        }
    }

    // A port that is down on a few, and active on more. Of nodes without any that is told already.
    void judge_links() {
        std::map<std::string, std::vector<std::string>> active;
        for (const auto* node : with_) {
            for (const auto& port : node->ports) {
                if (rdma::is_active(port.port)) {
                    active[rdma::port_name(port.port)].push_back(node->name);
                }
            }
        }
        for (const auto* node : with_) {
            for (const auto& port : node->ports) {
                const auto& up = active[rdma::port_name(port.port)];
                if (node->lacks.empty() && !rdma::is_active(port.port) && !is_part(*node, port) &&
                    up.size() * 2 >= with_.size() && !up.empty()) {
                    add(node->name, State::warn,
                        fmt::format("{} is {}, and ACTIVE on {}", rdma::port_name(port.port),
                                    port.port.state.empty() ? "in no known state" : port.port.state,
                                    list_names(up)),
                        "look at its cable and the switch's port; `ibstat` or `rdma link` on the host");
                }
            }
        }
    }

    void judge_rates() {
        std::map<std::string, std::vector<std::pair<std::string, std::string>>> rates; // by port
        for (const auto* node : with_) {
            for (const auto& port : node->ports) {
                if (port.used) {
                    rates[rdma::port_name(port.port)].emplace_back(node->name,
                                                                   rdma::rate_text(port.port.mbps));
                }
            }
        }
        for (const auto& [port, values] : rates) {
            for (auto& row : odd_rows(find_odd(values), {}, port + " has ")) {
                add(row.subject, State::warn, row.text,
                    "a slow port slows all: look at its cable, and at what it has negotiated (`ibstat`, "
                    "`ethtool`)");
            }
        }
    }

    void judge_networks() {
        if (fabric_.apart && !rdma::cabling_of(fabric_).direct) {
            std::string list;
            for (const auto* node : with_) {
                std::set<std::string> networks;
                for (const auto& port : node->ports) {
                    if (port.used && !port.network.empty()) {
                        networks.insert(port.network);
                    }
                }
                const std::vector<std::string> names(networks.begin(), networks.end());
                if (!names.empty() && list.size() < 400) {
                    list +=
                        fmt::format("{}{} is in {}", list.empty() ? "" : ", ", node->name, list_names(names));
                }
            }
            const bool ethernet = fabric_.link == "Ethernet";
            add("all nodes", ethernet ? State::warn : State::fail,
                "no network is common to the RDMA ports of all nodes: " + list,
                ethernet
                    ? "this works where a router leads from each to the others; else give the ports "
                      "addresses in one network (`dockdist check --deep` tries it)"
                    : "these are several InfiniBand fabrics: cable them to one, or make a cluster of each");
        }
        if (const auto told = rdma::settings(fabric_); !told.unsettled.empty()) {
            add("all nodes", State::warn, told.unsettled, told.hint);
        }
    }

    // A network that most nodes have a port in, and that none uses for the sake of a few, whose ports are in
    // others: a wrong address, or a cable in the wrong switch.
    void judge_lost_networks() {
        std::map<std::string, std::set<std::string>> nodes_in;
        for (const auto* node : with_) {
            for (const auto& port : node->ports) {
                if (!port.used && !port.network.empty()) {
                    nodes_in[port.network].insert(node->name);
                }
            }
        }
        for (const auto& [network, nodes] : nodes_in) {
            std::set<std::string> strays;
            if (nodes.size() < 2 || nodes.size() * 2 < with_.size()) {
                continue;
            }
            for (const auto& [other, few] : nodes_in) {
                if (few.size() == 1) { // several in one have a network of their own: another rack's, say
                    std::ranges::set_difference(few, nodes, std::inserter(strays, strays.end()));
                }
            }
            if (!strays.empty()) {
                add(names_text(strays), State::warn,
                    fmt::format("no port in {}, as on {}: no node uses these ports", network,
                                names_text(nodes)),
                    "look at the port's address (`ip address`) and at the switch that it is cabled to");
            }
        }
    }

    std::string pass_text() const {
        std::vector<std::string> networks;
        for (const auto& network : fabric_.networks) {
            networks.push_back((fabric_.link == "Ethernet" ? "" : "the InfiniBand subnet ") + network);
        }
        const auto* cables = rdma::cabling_of(fabric_).direct ? ", by cables from node to node" : "";
        return fmt::format("all go over {}{}{}{}", rdma::link_text(fabric_.link),
                           networks.empty() ? "" : " in ", list_names(networks), cables);
    }

    const rdma::Fabric& fabric_;
    std::vector<const rdma::Node*> with_{}; // any RDMA port
    std::vector<CheckRow> rows_{};
};

} // namespace

std::vector<CheckRow> judge_rdma(const RdmaFacts& facts) {
    std::vector<CheckRow> rows;
    const auto now = rdma::judge(as_it_is_now(facts));
    const auto joined = rdma::judge(facts.records);
    for (std::size_t i = 0; i < now.nodes.size(); ++i) {
        if (!now.nodes[i].ports.empty()) {
            rows.push_back(judge_ports(now.nodes[i], joined.nodes[i]));
        }
    }
    if (facts.whole) {
        std::ranges::move(judge_variables(facts, joined), std::back_inserter(rows));
    }
    std::ranges::move(RdmaFabricJudge(now).rows(), std::back_inserter(rows));
    return rows;
}

} // namespace dockdist
