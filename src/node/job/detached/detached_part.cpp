#include "node/job/detached/detached_part.hpp"

#include "node/session/job_part.hpp"
#include "shared/job_state/job_text.hpp"

namespace dockdist::node {
namespace {

constexpr const char* what_follows_silence =
    ": what runs here is ended, until another of the job's nodes takes the job over";
constexpr const char* no_successor = "none of the job's nodes that are left has taken it over";

} // namespace

DetachedPart::DetachedPart(Loop& loop, PreparedJob& job, FollowerList& followers, Listener listener)
    : job_(job), followers_(followers), listener_(std::move(listener)),
      link_(loop, job.account, [this](Pipe ends) { dialled(std::move(ends)); }),
      carrier_(loop,
               {.own = static_cast<std::size_t>(job.start.part),
                .policy = job.start.policy,
                .attempt = job.summary.result.attempt,
                .lease_ms = job.summary.lease_ms,
                .scratch = scratch_folder(job.summary.job)},
               std::move(job.members),
               {.on_order = listener_.on_order,
                .on_note = [this](const std::string& line) { job_.log.append(2, -1, line + "\n"); },
                .on_coordinator = [this](const auto& coordinator) { follow(coordinator); },
                .on_silence =
                    [this] {
                        searches_ = true;
                        listener_.on_silence(silence() + what_follows_silence);
                    },
                .on_over = [this] { listener_.on_over(searches_ ? no_successor : silence()); }}) {}

void DetachedPart::begin() {
    followers_.need_no_client();
    carrier_.begin();
}

void DetachedPart::follow(std::optional<Carrier::Listener::Target> coordinator) {
    followers_.drop_link();
    if (!coordinator) {
        return link_.hang_up();
    }
    link_.dial({.job = job_.summary.job,
                .node = job_.start.policy.parts[coordinator->part].node,
                .part = job_.start.part,
                .term = coordinator->term});
}

void DetachedPart::dialled(Pipe ends) {
    followers_.add_link(std::move(ends),
                        {.on_ping = [this](const std::string& line) { return carrier_.hear_ping(line); },
                         .pings_first = carrier_.may_be_succeeded(),
                         .on_end = [this] { link_.ended(); }});
}

std::string DetachedPart::silence() const {
    if (carrier_.leads()) {
        return lone_coordinator_text(job_.summary.lease_ms);
    }
    const auto& coordinator = job_.start.policy.parts[carrier_.former()].node;
    if (carrier_.former_resigned()) {
        return resigned_text(coordinator);
    }
    const auto said = link_.last_words().substr(0, link_.last_words().find_last_not_of("\r\n") + 1);
    return silent_coordinator_text(coordinator, job_.summary.lease_ms) +
           (said.empty() ? "" : "; ssh said: " + said);
}

} // namespace dockdist::node
