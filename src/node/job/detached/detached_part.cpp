#include "node/job/detached/detached_part.hpp"

namespace dockdist::node {

DetachedPart::DetachedPart(Loop& loop, PreparedJob& job, FollowerList& followers) : job_(job) {
    const auto& policy = job.start.policy;
    const auto coordinator = wire::coordinator_part(policy);
    if (static_cast<std::size_t>(job.start.part) == coordinator) {
        followers.held_by(FollowerList::Holder::nobody);
        coordinator_ =
            std::make_unique<Coordinator>(loop, policy, std::move(job.members), job.summary.lease_ms);
        coordinator_->on_order = [this](const wire::JobCommand& order) { on_order(order); };
        coordinator_->on_note = [&job](const std::string& line) { job.log.append(2, -1, line + "\n"); };
        return;
    }
    followers.held_by(FollowerList::Holder::link);
    link_ = std::make_unique<CoordinatorLink>(
        loop,
        CoordinatorLink::Target{
            .job = job.summary.job, .node = policy.parts[coordinator].node, .part = job.start.part},
        job.account,
        [this, &followers](Fd socket) { followers.add_link(std::move(socket), [this] { link_->ended(); }); });
    link_->dial();
}

void DetachedPart::hear_own(const wire::JobEvent& event) {
    if (coordinator_) {
        coordinator_->hear_own(event);
    }
}

void DetachedPart::stop_members(std::int64_t grace_ms) {
    if (coordinator_) {
        coordinator_->stop_members(grace_ms);
    }
}

std::string DetachedPart::silence(const std::string& for_how_long) const {
    return "nothing was heard of the job's coordinator, " +
           job_.start.policy.parts[wire::coordinator_part(job_.start.policy)].node + ", for " + for_how_long +
           (link_ && !link_->last_words().empty() ? "; ssh said: " + link_->last_words() : "");
}

} // namespace dockdist::node
