#include "shared/line/line.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using Phase = LineJob::Phase;
using Nodes = std::vector<std::size_t>;
using Ids = std::vector<std::string>;

bool waits(const BoardEntry& entry) {
    return entry.units.empty();
}

bool has(const Ids& ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

bool meet(const Ids& some, const Ids& others) {
    return std::ranges::any_of(some, [&](const auto& id) { return has(others, id); });
}

template <class T>
void add_once(std::vector<T>& all, const T& one) {
    if (std::ranges::find(all, one) == all.end()) {
        all.push_back(one);
    }
}

// One that waits: a job of this cluster, or a ticket of another one's.
struct Waiter {
    std::size_t job = 0;
    const BoardEntry* stranger = nullptr;
    std::size_t host = 0; // of the stranger
};

// What somebody is to have before those who come later: some of these units of a host.
struct Promise {
    const Ids* among = nullptr;
    const std::string* job = nullptr; // of this cluster; null: `stranger`
    const wire::GpuParty* stranger = nullptr;
};

// Goes through the line once. What is kept by node is kept up to date from one job to the next, so that a job
// costs a few words for each node that would do.
class Walk {
public:
    Walk(const std::vector<LineJob>& jobs, const LineView& view)
        : jobs_(jobs), view_(view), hosts_(view.hosts.size()), demand_(view.nodes.size()),
          entries_(jobs.size()) {
        read_nodes();
        read_boards();
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            if (jobs_[job].phase == Phase::waiting) {
                line_.push_back({.job = job});
            } else {
                count_as_taken(job);
            }
        }
        std::ranges::sort(line_, {}, [&](const Waiter& waiter) { return key_of(waiter); });
        for (const auto& waiter : line_) {
            count_demand(waiter, 1);
        }
    }

    LineDecision decide() {
        for (const auto& waiter : line_) {
            count_demand(waiter, -1);
            if (const auto* const stranger = waiter.stranger; stranger != nullptr) {
                promise(waiter.host, stranger->wanted,
                        {.among = &stranger->candidates, .stranger = &stranger->who});
            } else {
                serve(waiter.job);
            }
        }
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            for (const auto& [node, entry] : entries_[job]) {
                if (waits(*entry) && jobs_[job].phase != Phase::asking && !kept_.contains({job, node})) {
                    leave(jobs_[job].name, node);
                }
            }
        }
        return std::move(decision_);
    }

private:
    struct Host {
        Nodes nodes{};
        std::vector<Promise> promised{};             // in the order of the line
        std::map<std::string_view, int> strangers{}; // that wait and have not had their turn, by unit
        std::size_t tickets = 0;                     // of this cluster, that are to be there
    };
    struct Seen {
        std::size_t node = 0;
        const BoardEntry* entry = nullptr;
    };

    void read_nodes() {
        for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
            const auto& node = view_.nodes[i];
            hosts_[node.host].nodes.push_back(i);
            sites_.push_back({.could = node.units, .free = node.units, .domains = node.domains});
        }
    }

    void read_boards() {
        std::map<std::string_view, std::size_t> jobs;
        std::map<std::string_view, std::size_t> nodes;
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            jobs.emplace(jobs_[job].name, job);
        }
        for (std::size_t node = 0; node < view_.nodes.size(); ++node) {
            nodes.emplace(view_.nodes[node].name, node);
        }
        for (std::size_t host = 0; host < view_.hosts.size(); ++host) {
            for (const auto& entry : view_.hosts[host].board.entries) {
                for (const auto& unit : entry.units) {
                    is_gone(host, unit.id);
                }
                const auto node = nodes.find(entry.who.node);
                if (entry.who.cluster != view_.cluster || node == nodes.end()) {
                    if (waits(entry)) {
                        line_.push_back({.stranger = &entry, .host = host});
                    }
                } else if (const auto job = jobs.find(entry.who.job); job != jobs.end()) {
                    entries_[job->second].push_back({.node = node->second, .entry = &entry});
                } else if (waits(entry)) {
                    leave(entry.who.job, node->second);
                }
            }
        }
    }

    void is_gone(std::size_t host, std::string_view unit) {
        for (const auto node : hosts_[host].nodes) {
            std::erase(sites_[node].free, unit);
        }
    }

    void leave(const std::string& job, std::size_t node) {
        decision_.steps.push_back({.what = LineStep::Do::leave, .job = job, .nodes = {node}});
    }

    const BoardEntry* entry_of(std::size_t job, std::size_t node) const {
        const auto found = std::ranges::find(entries_[job], node, &Seen::node);
        return found == entries_[job].end() ? nullptr : found->entry;
    }

    Nodes tickets_of(std::size_t job) const {
        Nodes at;
        for (const auto& [node, entry] : entries_[job]) {
            if (waits(*entry)) {
                at.push_back(node);
            }
        }
        return at;
    }

    // Until it has one: what boards propose.
    std::int64_t number_of(std::size_t job) const {
        auto number = jobs_[job].number;
        for (const auto& seen : entries_[job]) {
            number = jobs_[job].number > 0 ? number : std::max(number, seen.entry->number);
        }
        return number;
    }

    using Key = std::tuple<int, std::int64_t, std::string_view, std::string_view, std::size_t>;
    Key key_of(const Waiter& waiter) const {
        if (waiter.stranger != nullptr) {
            const auto& entry = *waiter.stranger;
            return {-entry.priority, entry.number, entry.who.job, entry.who.cluster, waiter.host};
        }
        const auto& job = jobs_[waiter.job];
        const auto number = number_of(waiter.job);
        if (number == 0) { // behind all, as they came
            return {-job.priority, std::numeric_limits<std::int64_t>::max(), {}, {}, waiter.job};
        }
        return {-job.priority, number, job.name, view_.cluster, waiter.job};
    }

    int wanted_of(const LineJob& job, std::size_t node) const {
        return job.wanted == wire::all_units ? static_cast<int>(view_.nodes[node].units.size()) : job.wanted;
    }

    void count_demand(const Waiter& waiter, int change) {
        if (waiter.stranger != nullptr) {
            for (const auto& id : waiter.stranger->candidates) {
                hosts_[waiter.host].strangers[id] += change;
            }
            return;
        }
        for (const auto& seats : jobs_[waiter.job].seats) {
            for (const auto node : seats.among) {
                demand_[node] += change;
            }
        }
    }

    int demand_of(std::size_t host, const std::string& unit) const {
        const auto strangers = hosts_[host].strangers.find(unit);
        int demand = strangers == hosts_[host].strangers.end() ? 0 : strangers->second;
        for (const auto node : hosts_[host].nodes) {
            demand += has(view_.nodes[node].units, unit) ? demand_[node] : 0;
        }
        return demand;
    }

    // As many of them as are left, and wanted; those first that fewer behind it would do with.
    void promise(std::size_t host, int wanted, const Promise& to) {
        std::vector<std::pair<int, std::size_t>> left;
        for (std::size_t i = 0; i < to.among->size(); ++i) {
            const auto& unit = (*to.among)[i];
            if (is_left(host, unit)) {
                left.emplace_back(demand_of(host, unit), i);
            }
        }
        std::ranges::sort(left);
        left.resize(std::min(left.size(), static_cast<std::size_t>(std::max(wanted, 0))));
        for (const auto& [demand, index] : left) {
            is_gone(host, (*to.among)[index]);
        }
        for (const auto node : hosts_[host].nodes) {
            sites_[node].ahead += meet(view_.nodes[node].units, *to.among) ? 1 : 0;
        }
        hosts_[host].promised.push_back(to);
    }

    // A unit that none of these nodes has is none that they could lose.
    bool is_left(std::size_t host, const std::string& unit) const {
        return std::ranges::any_of(hosts_[host].nodes,
                                   [&](std::size_t node) { return has(sites_[node].free, unit); });
    }

    void take_as_if(std::size_t job, const Nodes& at) {
        for (const auto node : at) {
            promise(view_.nodes[node].host, wanted_of(jobs_[job], node),
                    {.among = &view_.nodes[node].units, .job = &jobs_[job].name});
        }
    }

    // What an ask under way, or a part that no board shows yet, is about to take.
    void count_as_taken(std::size_t job) {
        Nodes unseen;
        std::ranges::copy_if(jobs_[job].at, std::back_inserter(unseen), [&](std::size_t node) {
            const auto* const entry = entry_of(job, node);
            return entry == nullptr || waits(*entry);
        });
        take_as_if(job, unseen);
    }

    // How the nodes are for this job.
    void set_sites(const LineJob& job) {
        for (const auto& seats : job.seats) {
            for (const auto node : seats.among) {
                auto& site = sites_[node];
                site.wanted = wanted_of(job, node);
                const auto wanted = static_cast<std::size_t>(site.wanted);
                site.there = view_.nodes[node].there && site.could.size() >= wanted; // else it will never do
                site.fits = site.free.size() >= wanted;
            }
        }
    }

    static std::size_t count_of(const LineJob& job) {
        std::size_t count = 0;
        for (const auto& seats : job.seats) {
            count += seats.count;
        }
        return count;
    }

    // Its tickets are all on their boards, with its number.
    bool is_settled(std::size_t job, const Nodes& at) const {
        return jobs_[job].number > 0 && at.size() == count_of(jobs_[job]) &&
               std::ranges::all_of(
                   at, [&](std::size_t node) { return entry_of(job, node)->number == jobs_[job].number; });
    }

    bool wants_some(const LineJob& job, const Nodes& at) const {
        return std::ranges::any_of(at, [&](std::size_t node) { return wanted_of(job, node) > 0; });
    }

    void serve(std::size_t index) {
        const auto& job = jobs_[index];
        set_sites(job);
        const auto now = place(sites_, job.seats);
        const auto had = tickets_of(index);
        // Who was refused gets into line first: of two that refuse each other everything that says who is
        // before the other.
        if (now && (job.refusals == 0 || is_settled(index, had) || !wants_some(job, *now))) {
            decision_.steps.push_back({.what = LineStep::Do::ask, .job = job.name, .nodes = *now});
            keep_tickets(index, had); // until it has taken
            return take_as_if(index, *now);
        }
        const bool stands = !had.empty() && had.size() == count_of(job) &&
                            std::ranges::all_of(had, [&](auto node) { return view_.nodes[node].there; });
        const auto at = now ? now : stands ? std::optional(had) : place_to_wait(sites_, job.seats);
        LineReason reason{.job = index, .too_few = !at};
        if (at) {
            reason.at = *at;
            say_why(job, reason);
            stand_in_line(index, *at);
            take_as_if(index, *at);
        }
        decision_.waits.push_back(std::move(reason));
    }

    void keep_tickets(std::size_t job, const Nodes& at) {
        for (const auto node : at) {
            kept_.emplace(job, node);
        }
    }

    void stand_in_line(std::size_t index, const Nodes& at) {
        const auto& job = jobs_[index];
        if (std::ranges::any_of(
                at, [&](auto node) { return hosts_[view_.nodes[node].host].tickets >= most_tickets; })) {
            return; // it has its place, and those before it will go
        }
        keep_tickets(index, at);
        std::int64_t greatest = 0;
        bool all_seen = true;
        for (const auto node : at) {
            if (wanted_of(job, node) == 0) {
                continue;
            }
            ++hosts_[view_.nodes[node].host].tickets;
            const auto* const entry = entry_of(index, node);
            const bool is_seen = entry != nullptr && waits(*entry);
            all_seen = all_seen && is_seen;
            greatest = is_seen ? std::max(greatest, entry->number) : greatest;
            if (!is_seen || (job.number > 0 && entry->number != job.number)) {
                decision_.steps.push_back(
                    {.what = LineStep::Do::ticket, .job = job.name, .nodes = {node}, .number = job.number});
            }
        }
        if (job.number == 0 && all_seen && greatest > 0) {
            decision_.steps.push_back({.what = LineStep::Do::number, .job = job.name, .number = greatest});
        }
    }

    void say_why(const LineJob& job, LineReason& reason) const {
        for (const auto node : reason.at) {
            const auto& units = view_.nodes[node].units;
            const auto host = view_.nodes[node].host;
            for (const auto& entry : view_.hosts[host].board.entries) {
                const bool is_own = entry.who.cluster == view_.cluster && entry.who.job == job.name;
                if (!is_own && std::ranges::any_of(units, [&](const auto& id) { return holds(entry, id); })) {
                    add_once(reason.holders, entry.who);
                }
            }
            for (const auto& [among, ahead, stranger] : hosts_[host].promised) {
                if (!meet(units, *among)) {
                    continue;
                }
                if (stranger != nullptr) {
                    add_once(reason.strangers, *stranger);
                } else {
                    add_once(reason.ahead, *ahead);
                }
            }
        }
    }

    const std::vector<LineJob>& jobs_;
    const LineView& view_;
    std::vector<Host> hosts_;
    std::vector<int> demand_;   // by node: how many jobs that have not had their turn would do with it
    std::vector<Site> sites_{}; // by node; `free`: what those before have left
    std::vector<std::vector<Seen>> entries_; // by job: of it, on boards
    std::vector<Waiter> line_{};
    std::set<std::pair<std::size_t, std::size_t>> kept_{}; // tickets, by job and node
    LineDecision decision_{};
};

} // namespace

LineDecision decide(const std::vector<LineJob>& jobs, const LineView& view) {
    return Walk(jobs, view).decide();
}

} // namespace dockdist
