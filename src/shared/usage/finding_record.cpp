#include "shared/usage/finding_record.hpp"

#include <algorithm>

namespace dockdist {

void FindingRecord::hear(std::int64_t at_ms, const std::vector<wire::Finding>& now) {
    const auto since_ms = look_ == 0 ? 0 : std::max<std::int64_t>(at_ms - last_ms_, 0);
    last_ms_ = at_ms;
    ++look_;
    for (const auto& finding : now) {
        const Key key{finding.kind, finding.gpu, finding.rank, finding.disk};
        if (kept_.size() == wire::most_kept_findings && !kept_.contains(key)) {
            continue;
        }
        auto& [kept, look] = kept_[key];
        const bool goes_on = look > 0 && look == look_ - 1;
        const auto for_ms = kept.for_ms + (goes_on ? since_ms : finding.for_ms);
        kept = finding;
        kept.for_ms = for_ms;
        look = look_;
    }
}

std::vector<wire::Finding> FindingRecord::findings() const {
    std::vector<wire::Finding> findings;
    for (const auto& [key, kept] : kept_) {
        if (kept.finding.kind != wire::Finding::Kind::no_figures || kept.finding.for_ms > 0) {
            findings.push_back(kept.finding);
        }
    }
    return findings;
}

} // namespace dockdist
