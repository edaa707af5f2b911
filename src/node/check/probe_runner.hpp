// `dockdist-init probe`: starts one dockdist-probe a GPU, as whoever it runs as and with its own environment,
// and carries their lines (shared/wire/probe.hpp).
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// Until every probe has ended. Exit code 0; 1 when the client said something that is not of the protocol.
int run_probes();

// RDMA devices of which a port is active, without those of iWARP, which NCCL does not speak; `folder` is
// /sys/class/infiniband.
std::vector<std::string> active_rdma_devices(const std::string& folder);

} // namespace dockdist::node
