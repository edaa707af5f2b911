// A report as the terminal and programs see it. Pure.
#pragma once

#include "check/report/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace dockdist {

// The rows, the GPUs, the measurements of a deep check, and what to do. Matrices of more than 12 nodes are
// left to the page and to JSON.
std::string report_text(const CheckReport& report);

nlohmann::json report_json(const CheckReport& report, const std::string& cluster);

} // namespace dockdist
