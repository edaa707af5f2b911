// What `dockdist top -o json` prints of a round. Pure.
#pragma once

#include "client/top/top_model.hpp"

#include <nlohmann/json_fwd.hpp>

namespace dockdist {

// What is not known is null.
nlohmann::json top_json(const TopModel& model);

} // namespace dockdist
