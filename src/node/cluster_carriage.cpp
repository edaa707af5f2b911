#include "node/cluster_carriage.hpp"

namespace dockdist::node {

ClusterCarriage::ClusterCarriage(Loop& loop, PreparedJob& job, FollowerList& followers) : job_(job) {
    const auto& course = job.start.course;
    const auto keeper = wire::keeper_part(course);
    if (static_cast<std::size_t>(job.start.part) == keeper) {
        followers.held_by(FollowerList::Holder::nobody);
        keeper_ = std::make_unique<Keeper>(loop, course, std::move(job.members), job.summary.lease_ms);
        keeper_->on_order = [this](const wire::JobCommand& order) { on_order(order); };
        keeper_->on_note = [&job](const std::string& line) { job.log.append(2, -1, line + "\n"); };
        return;
    }
    followers.held_by(FollowerList::Holder::link);
    link_ = std::make_unique<KeeperLink>(
        loop,
        KeeperLink::Target{.job = job.summary.job, .node = course.parts[keeper].node, .part = job.start.part},
        job.account,
        [this, &followers](Fd socket) { followers.add_link(std::move(socket), [this] { link_->ended(); }); });
    link_->dial();
}

void ClusterCarriage::hear_own(const wire::JobEvent& event) {
    if (keeper_) {
        keeper_->hear_own(event);
    }
}

void ClusterCarriage::stop_members(std::int64_t grace_ms) {
    if (keeper_) {
        keeper_->stop_members(grace_ms);
    }
}

std::string ClusterCarriage::silence(const std::string& for_how_long) const {
    return "nothing was heard of the job's keeper, " +
           job_.start.course.parts[wire::keeper_part(job_.start.course)].node + ", for " + for_how_long +
           (link_ && !link_->last_words().empty() ? "; ssh said: " + link_->last_words() : "");
}

} // namespace dockdist::node
