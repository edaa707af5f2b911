#include "client/cli/looking/rdma_view.hpp"

#include "client/report/table.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

std::string index_text(const rdma::Port& port) {
    const auto* gid = rdma::gid_of(port);
    return gid == nullptr ? "-" : std::to_string(gid->index);
}

bool is_yours(const rdma::Node& node, const std::string& variable) {
    return std::ranges::find(node.record.yours, variable) != node.record.yours.end();
}

} // namespace

RdmaView::RdmaView(const std::vector<wire::NodeRecord>& records)
    : fabric_(rdma::judge(records)), settings_(rdma::settings(fabric_)) {}

nlohmann::json RdmaView::to_json(const std::string& node) const {
    const auto found = std::ranges::find(fabric_.nodes, node, &rdma::Node::name);
    if (found == fabric_.nodes.end()) {
        return nullptr;
    }
    auto ports = nlohmann::json::array();
    for (const auto& port : found->ports) {
        nlohmann::json one{{"device", port.port.device}, {"port", port.port.port},
                           {"state", port.port.state},   {"link", port.port.link},
                           {"mbps", port.port.mbps},     {"interface", port.port.netdev},
                           {"network", port.network},    {"used", port.used}};
        if (const auto* gid = rdma::gid_of(port)) {
            one["gid_index"] = gid->index;
            one["address"] = gid->address;
        }
        if (!port.used) {
            one["why_not"] = port.why;
        }
        ports.push_back(std::move(one));
    }
    auto variables = nlohmann::json::array();
    for (const auto& [name, value, why] :
         settings_.nodes[static_cast<std::size_t>(found - fabric_.nodes.begin())]) {
        variables.push_back(
            {{"name", name}, {"value", value}, {"why", why}, {"yours", is_yours(*found, name)}});
    }
    return {{"use", found->record.use}, {"ports", std::move(ports)}, {"variables", std::move(variables)}};
}

std::string RdmaView::to_text(std::size_t most_rows, const OutputTraits& output) const {
    const auto ports = ports_text(most_rows, output);
    const auto variables = variables_text(most_rows, output);
    auto text = ports.empty() ? std::string("\nNo node has an RDMA device.\n") : "\n" + ports;
    if (!variables.empty()) {
        text += "\n" + variables;
    }
    if (!settings_.unsettled.empty()) {
        text += "\n" + settings_.unsettled + ". What helps: " + settings_.hint + ".\n";
    }
    return text;
}

std::string RdmaView::ports_text(std::size_t most_rows, const OutputTraits& output) const {
    Table table({{.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle, .least = 12},
                 {.title = "RDMA PORT"},
                 {.title = "STATE", .paint = state_style},
                 {.title = "LINK"},
                 {.title = "RATE", .align = Align::right},
                 {.title = "INTERFACE", .give_up = 1},
                 {.title = "NETWORK", .give_up = 2},
                 {.title = "GID", .align = Align::right, .fold = Fold::any, .give_up = 3},
                 {.title = "USED", .narrow = Narrow::wrap, .least = 20}});
    for (const auto& node : fabric_.nodes) {
        for (const auto& port : node.ports) {
            table.add_row({node.name, rdma::port_name(port.port), port.port.state,
                           rdma::link_text(port.port.link), rdma::rate_text(port.port.mbps),
                           port.port.netdev.empty() ? "-" : port.port.netdev,
                           port.network.empty() ? "-" : port.network, index_text(port),
                           port.used ? "yes" : "no: " + port.why});
        }
    }
    return table.empty() ? std::string() : table.to_text(most_rows, output);
}

std::string RdmaView::variables_text(std::size_t most_rows, const OutputTraits& output) const {
    Table table({{.title = "NODE", .fold = Fold::names, .narrow = Narrow::middle, .least = 12},
                 {.title = "VARIABLE"},
                 {.title = "VALUE", .narrow = Narrow::wrap, .least = 20},
                 {.title = "WHY", .narrow = Narrow::wrap, .give_up = 1, .least = 20}});
    for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
        const auto& node = fabric_.nodes[i];
        for (const auto& [name, value, why] : settings_.nodes[i]) {
            const bool yours = is_yours(node, name);
            table.add_row({node.name, name, yours ? "yours" : value,
                           yours ? "the image or the file sets it; dockdist would: " + value : why});
        }
    }
    return table.empty() ? std::string() : table.to_text(most_rows, output);
}

} // namespace dockdist
