// The whole policy of a probe: order, libraries, GPU, communicator, measurements, result.
#pragma once

#include <string>

namespace dockdist::probe {

struct Paths {
    std::string cuda{}; // of libcuda.so.1; empty: looked for (probe/library_paths.hpp)
    std::string nccl{};
};

// The exit code (probe/order.hpp).
int run_probe(const Paths& paths);

} // namespace dockdist::probe
