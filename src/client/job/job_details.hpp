// All that is known of one job, as people read it. Pure.
#pragma once

#include "client/job/job_report.hpp"
#include "client/report/cell_table.hpp"
#include "client/report/output.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// What the job is and how it stands: a title and what belongs to it, in order. Cells may hold foreign text.
std::vector<std::pair<std::string, std::string>> job_facts(const JobReport& job);

// A row a figure: its mean, its peak and where that was, and the sum where one has a meaning.
CellTable usage_table(const UsageSum& usage);
// A row a node with its own figures, where there are several nodes.
CellTable node_usage_table(const std::vector<NodeUsage>& nodes);

// The screen of `dockdist jobs JOB`. Of more nodes than `most_rows` those that are alike become one row.
std::string job_details_text(const JobReport& job, const OutputTraits& output = no_terminal,
                             std::size_t most_rows = std::numeric_limits<std::size_t>::max());

} // namespace dockdist
