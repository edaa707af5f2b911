// A report as the terminal and programs see it. Pure.
#pragma once

#include "client/check/report/report.hpp"
#include "client/report/output.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <limits>
#include <string>

namespace dockdist {

// The rows, the GPUs, the measurements of a deep check, and what to do. Matrices of more than 12 nodes are
// left to the page and to JSON. Of more than `most_rows` in a table those that are alike become one; what
// fails or warns is told in full.
std::string report_text(const CheckReport& report,
                        std::size_t most_rows = std::numeric_limits<std::size_t>::max(),
                        const OutputTraits& output = no_terminal);

nlohmann::json report_json(const CheckReport& report, const std::string& cluster);

} // namespace dockdist
