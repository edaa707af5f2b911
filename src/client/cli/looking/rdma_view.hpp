// What `status` shows of the nodes' RDMA ports, as they joined: each port, whether jobs use it, and what they
// are told of it.
#pragma once

#include "client/report/output.hpp"
#include "shared/rdma/variables.hpp"
#include "shared/wire/join.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

class RdmaView {
public:
    // All nodes that are ready: what one uses depends on what the others have.
    explicit RdmaView(const std::vector<wire::NodeRecord>& records);

    // {"use","ports":[…],"variables":[…]} of a node; null where it is none of these.
    nlohmann::json to_json(const std::string& node) const;

    // Two tables, of ports and of variables, each with an empty line before it; a sentence where there is
    // nothing.
    std::string to_text(std::size_t most_rows, const OutputTraits& output) const;

private:
    std::string ports_text(std::size_t most_rows, const OutputTraits& output) const;
    std::string variables_text(std::size_t most_rows, const OutputTraits& output) const;

    rdma::Fabric fabric_;
    rdma::Settings settings_;
};

} // namespace dockdist
