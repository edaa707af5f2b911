#include "client/cli/jobs/rdma_required.hpp"

#include "shared/rdma/fabric.hpp"

#include <fmt/format.h>

namespace dockdist {

Errors lacking_rdma(const NetworkSpec& network, const std::vector<ReadyNode>& nodes) {
    Errors errors;
    if (network.rdma != NetworkSpec::Rdma::required) {
        return errors;
    }
    std::vector<wire::NodeRecord> records;
    for (const auto& node : nodes) {
        records.push_back(node.record);
    }
    for (const auto& unfit : rdma::unfit_nodes(rdma::judge(records))) {
        errors.push_back(
            {ErrorKind::node, unfit.node,
             fmt::format("the file says `rdma: required`, and this node cannot take part over RDMA: {}",
                         unfit.reason),
             "`dockdist status -v` lists its ports; fix them and run `dockdist down` and `dockdist "
             "up`, leave the node out (`--exclude " +
                 unfit.node + "`), or set `network: {rdma: auto}`"});
    }
    return errors;
}

} // namespace dockdist
