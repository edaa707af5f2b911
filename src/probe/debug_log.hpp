// Where NCCL writes its NCCL_DEBUG lines: a file in memory, which leaves nothing behind however the process
// ends.
#pragma once

#include <string>

namespace dockdist::probe {

class DebugLog {
public:
    // Sets NCCL_DEBUG and its kin in this process's environment, so it comes before NCCL is opened.
    DebugLog();
    std::string text() const; // what is written so far

private:
    int descriptor_;
};

} // namespace dockdist::probe
