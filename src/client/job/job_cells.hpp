// Cells that several tables of jobs have.
#pragma once

#include "client/job/job_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dockdist {

inline constexpr std::size_t node_columns = 40; // of nodes_cell, for many

std::string nodes_cell(const std::vector<std::string>& nodes);
std::string local_time(std::int64_t unix_ms); // "2026-11-23 20:00:00", in this machine's time zone
// Indices: "0-3" where they are the same on all nodes, else "0,1/4" in the order of the nodes.
std::string units_cell(const JobReport& job);

} // namespace dockdist
