// Reads what probes say (probe/order.hpp), of whom nothing is certain: what is missing or of another type is
// empty.
#pragma once

#include "client/check/probe_group.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist {

std::string text_of(const nlohmann::json& line, const char* key); // printable
double number_of(const nlohmann::json& line, const char* key);
std::uint64_t count_of(const nlohmann::json& line,
                       const char* key); // 2^53 at most: what doubles count exactly
std::vector<std::string> texts_of(const nlohmann::json& line, const char* key);
// The kinds of a result's transports, each once: "NET/Socket", "P2P".
struct TransportWords {
    std::string kind{}, detail{};
};
std::vector<TransportWords> transports_of(const ProbeRank& rank);
// "NET/IB/GDRDMA, P2P/CUMEM": over what the connections of a world run.
std::string transport_words(const ProbeWorld& world);
Error error_of(const ProbeRank& rank); // of its result; empty where it has none
std::uint64_t wrong_elements(const ProbeRank& rank);
std::string node_names(const std::vector<NodeName>& nodes,
                       const std::vector<std::size_t>& places); // "node-0, node-2"

} // namespace dockdist
