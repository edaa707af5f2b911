// Why a job stands still, as whoever carries it tells its parts, and as each keeps it with the job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace dockdist::wire {

class ObjectReader;

struct Hang {
    int attempt = 0;
    std::string cause{};         // of shared/diagnosis/verdict.hpp; empty: what was told before holds no more
    std::string node{};          // where it is; empty: no single one
    int rank = -1;               // -1: no single one, or the node's command
    std::string where{};         // its line of code
    std::string awaits{};        // what the others wait in
    std::string restart_helps{}; // yes, no, unknown
    std::string text{}, hint{};  // what and where, and what to do: a sentence each
    bool operator==(const Hang&) const = default;
};

void to_json(nlohmann::json& json, const Hang& hang);
void read_fields(ObjectReader& reader, Hang& hang);

} // namespace dockdist::wire
