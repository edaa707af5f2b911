// What there was to say of a job on its node while it ran: each thing once, with how long it held in all.
// Pure.
#pragma once

#include "shared/wire/finding.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dockdist {

class FindingRecord {
public:
    // What holds at this look, by a clock that never goes back. What comes when most_kept_findings are there
    // is left out.
    void hear(std::int64_t at_ms, const std::vector<wire::Finding>& now);
    // Each in its latest words; for_ms is all of its time. That figures were missing at one look is not told.
    std::vector<wire::Finding> findings() const;

private:
    using Key = std::tuple<wire::Finding::Kind, int, int, std::string>; // GPU, rank, disk
    struct Kept {
        wire::Finding finding{};
        std::int64_t look = 0; // the latest at which it held
    };
    std::map<Key, Kept> kept_{};
    std::int64_t look_ = 0;
    std::int64_t last_ms_ = 0;
};

} // namespace dockdist
