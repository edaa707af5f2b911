// Who used what, and a list of jobs, as people and programs read them. Pure.
#pragma once

#include "client/job/used.hpp"
#include "client/report/cell_table.hpp"
#include "client/report/output.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

std::string_view to_string(UsedBy by);

// A row a group, and one of all. Cells may hold foreign text.
CellTable used_cells(const UsedTable& table);
// Sentences: which span it is, and what is not known of it.
std::vector<std::string> used_notes(const UsedTable& table, const Span& span);
std::string used_text(const UsedTable& table, const Span& span, const OutputTraits& output);
nlohmann::json used_json(const UsedTable& table, const Span& span);

// With a header; an unknown figure is an empty cell. Of groups without the row of all, which whoever adds up
// would count twice.
std::string used_csv(const UsedTable& table);
std::string jobs_csv(const std::vector<JobReport>& jobs); // each as a whole

} // namespace dockdist
