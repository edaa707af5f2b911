// A check's report where it is not the command's own: after `up`.
#pragma once

#include "client/check/report/report.hpp"
#include "client/report/event.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace dockdist {

// "24 passed", "21 passed, 2 warnings, 1 failed".
std::string check_summary(const CheckReport& report);

// A note with the summary, and a warning for each row that does not pass, unless its text was among those
// that `told` has.
std::vector<Event> check_remarks(const CheckReport& report, const Errors& told);

// {"passed","failed","warnings","rows":[…]}: the rows that do not pass.
nlohmann::json check_json(const CheckReport& report);

} // namespace dockdist
