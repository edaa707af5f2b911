// What one source says of why a job's ranks stand still.
#pragma once

#include "shared/diagnosis/verdict.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct Evidence {
    HangVerdict::Kind kind = HangVerdict::Kind::none; // none: nothing, and `text` may still say why not
    std::vector<int> ranks{};                         // the job's numbers of those who are guilty by it
    std::string text{};                               // one sentence; empty: the source is not there
    std::string hint{};
};

} // namespace dockdist
