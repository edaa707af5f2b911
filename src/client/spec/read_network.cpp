// network: which network the nodes reach each other over, and what of RDMA a job may use.
#include "client/spec/sections.hpp"
#include "shared/core/subnet.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 3> rdma_words{"auto", "required",
                                                     "off"}; // in the order of NetworkSpec::Rdma

void read_subnet_text(Reader& reader, const Value& value, NetworkSpec& network) {
    const auto text = reader.line(value, "a network");
    if (!text) {
        return;
    }
    const auto subnet = read_subnet(*text);
    if (!subnet) {
        reader.error(value, in_quotes(*text) + " is not a network in CIDR form",
                     "write an address and the bits of its network: `10.1.0.0/16`, `fd00:1::/64`");
    } else if (!is_same_address(text->substr(0, text->find('/')), address_of(*subnet))) {
        reader.error(value, fmt::format("{} is not a network, but an address in one", in_quotes(*text)),
                     fmt::format("write `{}`", to_text(*subnet)));
    } else {
        network.subnets.push_back(to_text(*subnet));
    }
}

void read_subnets(Reader& reader, const Value& value, NetworkSpec& network) {
    if (value.node->kind != YamlNode::Kind::list) {
        read_subnet_text(reader, value, network);
        return;
    }
    for (const auto& item : reader.list(value, "a network or a list of them")) {
        read_subnet_text(reader, item, network);
    }
    if (network.subnets.size() > most_subnets) {
        reader.error(value, fmt::format("{} networks are more than the {} that there may be",
                                        network.subnets.size(), most_subnets));
    }
}

constexpr std::array network_table{
    Key<NetworkSpec>{"subnet", read_subnets},
    Key<NetworkSpec>{"rdma",
                     [](Reader& reader, const Value& value, NetworkSpec& network) {
                         if (const auto index = reader.word(value, rdma_words)) {
                             network.rdma = static_cast<NetworkSpec::Rdma>(*index);
                         }
                     },
                     rdma_words},
};

} // namespace

std::string to_word(NetworkSpec::Rdma rdma) {
    return std::string(rdma_words.at(static_cast<std::size_t>(rdma)));
}

std::span<const Key<NetworkSpec>> network_keys() {
    return network_table;
}

void read_network(Reader& reader, const Value& value, NetworkSpec& network) {
    if (reader.is_map(value, "a map", "write `network: {subnet: 10.1.0.0/16}`")) {
        read_keys(reader, value, network_keys(), network);
    }
}

} // namespace dockdist
