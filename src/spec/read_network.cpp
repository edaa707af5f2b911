// network: which network the nodes reach each other over, and what of RDMA a job may use.
#include "core/text.hpp"
#include "spec/sections.hpp"

#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 3> rdma_words{"auto", "required",
                                                     "off"}; // in the order of NetworkSpec::Rdma

constexpr std::array network_table{
    Key<NetworkSpec>{"rdma",
                     [](Reader& reader, const Value& value, NetworkSpec& network) {
                         if (const auto index = reader.word(value, rdma_words)) {
                             network.rdma = static_cast<NetworkSpec::Rdma>(*index);
                         }
                     },
                     rdma_words},
};

} // namespace

std::span<const Key<NetworkSpec>> network_keys() {
    return network_table;
}

void read_network(Reader& reader, const Value& value, NetworkSpec& network) {
    if (reader.is_map(value, "a map", "write `network: {rdma: required}`")) {
        read_keys(reader, value, network_keys(), network);
    }
}

} // namespace dockdist
