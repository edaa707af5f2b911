// Clusters that share hosts, each with a leader that sees old boards, and nodes that come and go: whatever
// the order of the messages is, the line holds.
#include "shared/line/line.hpp"
#include "simulations.hpp"
#include "unit/line/boards.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>

namespace line_simulation_test {

using namespace dockdist;
using Do = LineStep::Do;
using Phase = LineJob::Phase;

namespace {

constexpr std::size_t most_at_once = 8; // jobs of a cluster that are not over

struct Job {
    LineJob line{};
    int asks = 0;                          // so that the answer to one counts for no other
    std::map<std::size_t, bool> answers{}; // to the last, by node: whether it has taken
};

struct Order {
    LineStep step{};
    bool is_done = false;
};

struct Cluster {
    std::string name{};
    LineView view{};
    std::deque<Job> jobs{};
    std::vector<std::deque<std::function<void()>>> down{}, up{}; // by node, in their order
    std::map<std::pair<std::string, std::size_t>, Order> told{}; // tickets and leaves, by job and node
    std::vector<bool> is_old{};                                  // by host: what the view shows of it
    std::size_t submitted = 0;
};

class Simulation {
public:
    Simulation(unsigned seed, std::size_t hosts, std::size_t clusters, std::size_t jobs)
        : random_(seed), jobs_(jobs), units_(hosts), boards_(hosts), clusters_(clusters) {
        for (std::size_t host = 0; host < hosts; ++host) {
            const auto units = upto(1, 8);
            for (std::size_t i = 0; i < units; ++i) {
                units_[host].push_back("h" + std::to_string(host) + "g" + std::to_string(i));
            }
        }
        for (std::size_t i = 0; i < clusters; ++i) {
            make(clusters_[i], i);
        }
    }

    void run() {
        while (step()) {
        }
        for (const auto& cluster : clusters_) {
            CHECK(cluster.jobs.empty());
        }
        CHECK(boards_.is_empty());
    }
    int waited() const { return waited_; }
    int refused() const { return refused_; }

private:
    std::size_t upto(std::size_t least, std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(least, most)(random_);
    }
    bool one_in(std::size_t n) { return upto(1, n) == 1; }

    void make(Cluster& cluster, std::size_t index) {
        cluster.name = "c" + std::to_string(index);
        cluster.view = {.cluster = cluster.name, .hosts = std::vector<LineHost>(units_.size())};
        for (std::size_t host = 0; host < units_.size(); ++host) {
            if (index > 0 && host > 0 && one_in(3)) {
                continue; // it has no node there
            }
            const auto& units = units_[host];
            const auto seen = one_in(4) ? upto(1, units.size()) : units.size();
            cluster.view.nodes.push_back(
                {.name = "n" + std::to_string(host),
                 .host = host,
                 .units = {units.begin(), units.begin() + static_cast<std::ptrdiff_t>(seen)},
                 .domains = {host % 2}});
        }
        cluster.down.resize(cluster.view.nodes.size());
        cluster.up.resize(cluster.view.nodes.size());
        cluster.is_old.resize(units_.size());
    }

    Job new_job(Cluster& cluster) {
        Job job;
        job.line.name = cluster.name + "-" + std::to_string(cluster.submitted++);
        job.line.priority = one_in(10) ? 1 : 0;
        job.line.wanted = one_in(4) ? wire::all_units : static_cast<int>(upto(0, 3));
        Seats seats;
        for (std::size_t node = 0; node < cluster.view.nodes.size(); ++node) {
            const auto units = static_cast<int>(cluster.view.nodes[node].units.size());
            if (units >= job.line.wanted && !one_in(5)) {
                seats.among.push_back(node);
            }
        }
        if (seats.among.empty()) {
            seats.among.push_back(upto(0, cluster.view.nodes.size() - 1));
            job.line.wanted = wire::all_units;
        }
        const auto most = std::min<std::size_t>(seats.among.size(), one_in(6) ? units_.size() : 3);
        seats.count = upto(1, most);
        job.line.seats = {seats};
        return job;
    }

    // One thing that happens; false: there is nothing more.
    bool step() {
        std::vector<std::function<void()>> choices;
        bool under_way = false;
        for (auto& cluster : clusters_) {
            for (auto* links : {&cluster.down, &cluster.up}) {
                for (auto& link : *links) {
                    if (!link.empty()) {
                        choices.emplace_back([&link] {
                            const auto arrive = std::move(link.front());
                            link.pop_front();
                            arrive();
                        });
                    }
                }
            }
            for (std::size_t host = 0; host < units_.size(); ++host) {
                if (cluster.is_old[host]) {
                    choices.emplace_back([this, &cluster, host] { show(cluster, host); });
                }
            }
        }
        under_way = !choices.empty();
        if (!under_way) {
            check_nothing_idles();
        }
        for (auto& cluster : clusters_) {
            if (cluster.submitted < jobs_ && cluster.jobs.size() < most_at_once) {
                choices.emplace_back([this, &cluster] {
                    cluster.jobs.push_back(new_job(cluster));
                    decide_in(cluster);
                });
            }
            for (auto& job : cluster.jobs) {
                if (job.line.phase == Phase::running) {
                    choices.emplace_back([this, &cluster, name = job.line.name] { end(cluster, name); });
                }
            }
            for (std::size_t node = 0; node < cluster.view.nodes.size(); ++node) {
                if (!cluster.view.nodes[node].there) {
                    choices.emplace_back([this, &cluster, node] {
                        cluster.view.nodes[node].there = true;
                        decide_in(cluster);
                    });
                } else if (under_way && one_in(400)) {
                    choices.emplace_back([this, &cluster, node] { lose(cluster, node); });
                }
            }
        }
        if (choices.empty()) {
            return false;
        }
        choices[upto(0, choices.size() - 1)]();
        return true;
    }

    // A leader.
    static Job* job_in(Cluster& cluster, const std::string& name) {
        const auto found =
            std::ranges::find_if(cluster.jobs, [&](const Job& job) { return job.line.name == name; });
        return found == cluster.jobs.end() ? nullptr : &*found;
    }
    void decide_in(Cluster& cluster) {
        std::vector<LineJob> lines;
        for (const auto& job : cluster.jobs) {
            lines.push_back(job.line);
        }
        const auto decision = decide(lines, cluster.view);
        for (const auto& wait : decision.waits) {
            const bool is_explained = wait.too_few || !wait.holders.empty() || !wait.ahead.empty() ||
                                      !wait.strangers.empty() || lines[wait.job].refusals > 0;
            CHECK(is_explained);
        }
        bool again = false;
        for (const auto& step : decision.steps) {
            if (step.what == Do::ask) {
                begin_asking(cluster, step);
            } else if (step.what == Do::number) {
                job_in(cluster, step.job)->line.number = step.number;
                ++waited_;
                again = true;
            } else {
                tell(cluster, step);
            }
        }
        if (again) {
            decide_in(cluster);
        }
    }
    void begin_asking(Cluster& cluster, const LineStep& step) {
        auto& job = *job_in(cluster, step.job);
        job.line.phase = Phase::asking;
        job.line.at = step.nodes;
        job.answers.clear();
        ++job.asks;
        for (const auto node : step.nodes) {
            cluster.down[node].emplace_back([this, &cluster, node, line = job.line, asks = job.asks] {
                const bool taken = boards_.take(cluster.view, node, line, random_);
                changed(cluster, node);
                cluster.up[node].emplace_back([this, &cluster, node, name = line.name, asks, taken] {
                    hear(cluster, node, name, asks, taken);
                });
            });
        }
    }
    void hear(Cluster& cluster, std::size_t node, const std::string& name, int asks, bool taken) {
        auto* const job = job_in(cluster, name);
        if (job == nullptr || job->line.phase != Phase::asking || job->asks != asks) {
            return;
        }
        job->answers[node] = taken;
        if (job->answers.size() < job->line.at.size()) {
            return;
        }
        if (std::ranges::all_of(job->answers, [](const auto& answer) { return answer.second; })) {
            job->line.phase = Phase::running;
        } else {
            give_back(cluster, *job);
        }
        decide_in(cluster);
    }
    void give_back(Cluster& cluster, Job& job) {
        ++refused_;
        job.line.phase = Phase::waiting;
        ++job.line.refusals;
        for (const auto node : job.line.at) {
            cluster.down[node].emplace_back([this, &cluster, node, name = job.line.name] {
                boards_.release(cluster.view, node, name, true);
                changed(cluster, node);
            });
        }
    }
    void tell(Cluster& cluster, const LineStep& step) {
        const auto node = step.nodes.front();
        auto& last = cluster.told[{step.job, node}];
        if (last.step == step) {
            return; // on its way, or not seen yet
        }
        last = {.step = step};
        cluster.down[node].emplace_back([this, &cluster, node, step] {
            const auto* const job = job_in(cluster, step.job);
            boards_.obey(cluster.view, step, job == nullptr ? nullptr : &job->line);
            changed(cluster, node);
            if (const auto told = cluster.told.find({step.job, node});
                told != cluster.told.end() && told->second.step == step) {
                told->second.is_done = true;
            }
        });
    }
    void show(Cluster& cluster, std::size_t host) {
        cluster.is_old[host] = false;
        cluster.view.hosts[host].board = boards_.of(host);
        std::erase_if(cluster.told, [&](const auto& told) {
            return told.second.is_done && cluster.view.nodes[told.first.second].host == host;
        });
        decide_in(cluster);
    }
    void end(Cluster& cluster, const std::string& name) {
        const auto job = *job_in(cluster, name);
        std::erase_if(cluster.jobs, [&](const Job& one) { return one.line.name == name; });
        for (const auto node : job.line.at) {
            boards_.release(cluster.view, node, name, false);
            changed(cluster, node);
        }
        decide_in(cluster);
    }
    // What it had goes, and what was on its way to it.
    void lose(Cluster& cluster, std::size_t node) {
        cluster.down[node].clear();
        cluster.up[node].clear();
        cluster.view.nodes[node].there = false;
        boards_.forget(cluster.view, node);
        std::erase_if(cluster.told, [&](const auto& told) { return told.first.second == node; });
        changed(cluster, node);
        std::vector<std::string> lost;
        for (auto& job : cluster.jobs) {
            if (job.line.phase != Phase::waiting &&
                std::ranges::find(job.line.at, node) != job.line.at.end()) {
                if (job.line.phase == Phase::asking) {
                    give_back(cluster, job);
                } else {
                    lost.push_back(job.line.name);
                }
            }
        }
        for (const auto& name : lost) {
            end(cluster, name);
        }
        decide_in(cluster);
    }

    void changed(const Cluster& of, std::size_t node) {
        for (auto& cluster : clusters_) {
            cluster.is_old[of.view.nodes[node].host] = true;
        }
    }

    // At rest no job waits for which there are enough nodes with free units, and nobody in line on their
    // hosts.
    void check_nothing_idles() {
        for (const auto& cluster : clusters_) {
            for (const auto& job : cluster.jobs) {
                const auto& [count, among] = job.line.seats.front();
                const auto idle = std::ranges::count_if(among, [&](std::size_t node) {
                    const auto& one = cluster.view.nodes[node];
                    const auto& entries = boards_.of(one.host).entries;
                    const auto wanted = job.line.wanted == wire::all_units
                                            ? static_cast<std::ptrdiff_t>(one.units.size())
                                            : job.line.wanted;
                    return one.there &&
                           std::ranges::none_of(entries,
                                                [&](const BoardEntry& entry) {
                                                    return entry.units.empty() &&
                                                           entry.who.job != job.line.name;
                                                }) &&
                           std::ranges::count_if(one.units, [&](const auto& unit) {
                               return holder_of(entries, unit) == nullptr;
                           }) >= wanted;
                });
                const bool could =
                    job.line.phase == Phase::waiting && static_cast<std::size_t>(idle) >= count;
                CHECK_FALSE(could);
            }
        }
    }

    std::mt19937 random_;
    std::size_t jobs_;
    std::vector<std::vector<std::string>> units_; // by host
    line_boards::Boards boards_;
    std::vector<Cluster> clusters_;
    int waited_ = 0, refused_ = 0;
};

} // namespace

TEST_CASE(
    "jobs of clusters that share hosts: never two on a unit, none overtaken, none waits that fits, all end") {
    const unsigned seeds = simulate_all() ? 200 : 5;
    int waited = 0, refused = 0;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Simulation simulation(seed, 2 + seed % 7, 1 + seed % 3, 20);
        simulation.run();
        waited += simulation.waited();
        refused += simulation.refused();
    }
    CHECK(waited > 5 * static_cast<int>(seeds)); // else it would prove nothing
    CHECK(refused > static_cast<int>(seeds));
}

} // namespace line_simulation_test
