// What `check` says of `data`.
#pragma once

#include "client/check/report/report.hpp"
#include "client/cli/context.hpp"

#include <vector>

namespace dockdist {

// A row for each entry and each of these hosts, but those that cannot be reached, of which others tell.
Task<std::vector<CheckRow>> data_rows(const Context& context, const ClusterSpec& spec, const Engines& engines,
                                      std::vector<std::size_t> hosts);

} // namespace dockdist
