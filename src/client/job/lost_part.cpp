// NodeJob: what is known of a part that is lost.
#include "client/job/node_job.hpp"

namespace dockdist {

std::optional<LeaseClock::time_point> NodeJob::told_until() const {
    return part_gone_ ? std::nullopt : std::optional(std::max(last_heard_, last_told_));
}

Task<bool> NodeJob::container_is_still() {
    const auto details = co_await engine_.inspect_container(node_.id);
    if (!details) {
        co_return details.error().kind == ErrorKind::not_found;
    }
    co_return details->state != ContainerState::running && details->state != ContainerState::paused;
}

} // namespace dockdist
