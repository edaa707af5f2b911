#include "shared/core/descriptors.hpp"

#include <optional>
#include <sys/resource.h>

namespace dockdist {
namespace {

std::optional<rlimit>& limit_at_first() {
    static std::optional<rlimit> limit;
    return limit;
}

} // namespace

void take_all_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    if (!limit_at_first()) {
        limit_at_first() = limit;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

void give_back_descriptors() {
    if (limit_at_first()) {
        (void)::setrlimit(RLIMIT_NOFILE, &*limit_at_first());
    }
}

} // namespace dockdist
