// Many jobs that may have any of several nodes, over hosts of several sizes, with messages in any order: by
// the client's own choice (client/job/gpu_line.hpp) and the boards' (shared/gpu/board.hpp).
#include "client/job/gpu_line.hpp"
#include "shared/gpu/board.hpp"
#include "simulations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>

namespace any_nodes_simulation_test {

using namespace dockdist;
using Type = wire::JobCommand::Type;
using State = wire::GpuTurn::State;

namespace {

constexpr std::size_t most_at_once = 14; // jobs that run or wait

struct Host {
    Board board{};
    std::vector<std::string> units{};
};

// A job on a node, with the node's reservation (node/gpus/reservation.cpp) and what is under way.
struct Part {
    std::size_t host = 0;
    BoardEntry entry{};
    wire::GpuTurn told{};
    std::int64_t order = 0;
    std::deque<wire::JobCommand> orders{};
    std::deque<wire::GpuTurn> turns{};
    bool is_open = true;
    bool dirty = false; // its host's board has changed
};

struct Job {
    std::vector<Part> parts{};
    Choice choice{};
    std::unique_ptr<GpuLine> line{};
    bool running = false;
};

class Simulation {
public:
    Simulation(unsigned seed, std::size_t jobs) : random_(seed), left_(jobs) {
        hosts_.resize(upto(2, 20));
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
            for (std::size_t i = upto(1, 8); i > 0; --i) {
                hosts_[host].units.push_back("h" + std::to_string(host) + "g" + std::to_string(i));
            }
            nodes_.push_back(host);
        }
        nodes_.push_back(upto(0, hosts_.size() - 1)); // and a host with two nodes
    }

    void run() {
        while (left_ > 0 || !jobs_.empty()) {
            std::vector<std::pair<Job*, Part*>> busy;
            std::vector<Job*> running;
            for (const auto& job : jobs_) {
                for (auto& part : job->parts) {
                    if (part.dirty || !part.orders.empty() || (!part.turns.empty() && job->line)) {
                        busy.emplace_back(job.get(), &part);
                    }
                }
                if (job->running) {
                    running.push_back(job.get());
                }
            }
            if (busy.empty()) {
                if (wake()) {
                    continue;
                }
                check_none_waits_that_fits();
            }
            const std::size_t opening = left_ > 0 && jobs_.size() < most_at_once ? 1 : 0;
            const auto choices = opening + busy.size() + running.size();
            REQUIRE(choices > 0); // else those that wait would wait for ever
            if (const auto chosen = upto(0, choices - 1); chosen < busy.size()) {
                go_on(*busy[chosen].first, *busy[chosen].second);
            } else if (chosen < busy.size() + running.size()) {
                end(*running[chosen - busy.size()]);
            } else {
                open();
            }
        }
        for (const auto& host : hosts_) {
            CHECK(host.board.entries.empty());
        }
    }
    int waited = 0, moved = 0, at_once = 0;

private:
    std::size_t upto(std::size_t least, std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(least, most)(random_);
    }

    void open() {
        auto job = std::make_unique<Job>();
        const auto name = "job-" + std::to_string(left_--);
        const auto wanted = upto(0, 2) == 0 ? 0 : upto(1, 4); // 0: all that a node has
        const int priority = upto(0, 9) == 0 ? 1 : 0;
        std::vector<std::size_t> among;
        for (const auto host : nodes_) {
            const auto& units = hosts_[host].units;
            if (units.size() < wanted || (upto(0, 4) == 0 && !among.empty())) {
                continue;
            }
            Part part{.host = host};
            part.entry = {.who = {.cluster = "c", .node = "n" + std::to_string(among.size()), .job = name},
                          .wanted = static_cast<int>(wanted == 0 ? units.size() : wanted),
                          .candidates = units,
                          .priority = priority};
            part.told = answer(part);
            among.push_back(job->parts.size());
            job->choice.domains.push_back({host / 4});
            job->parts.push_back(std::move(part));
        }
        if (among.empty()) {
            return;
        }
        const auto count = upto(1, std::min<std::size_t>(among.size(), 4));
        // Two nodes of one host may be too many for it, and all that there are: a run would be refused.
        const std::set<std::size_t> hosts = [&] {
            std::set<std::size_t> all;
            for (const auto& part : job->parts) {
                all.insert(part.host);
            }
            return all;
        }();
        job->choice.seats = {{.count = std::min(count, hosts.size()), .among = std::move(among)}};
        std::vector<wire::GpuTurn> turns;
        for (const auto& part : job->parts) {
            turns.push_back(part.told);
        }
        job->line = std::make_unique<GpuLine>(std::move(turns), job->choice);
        jobs_.push_back(std::move(job));
        decide_of(*jobs_.back());
    }

    // The node's side.
    wire::GpuTurn answer(const Part& part) const {
        const auto& entry = part.entry;
        wire::GpuTurn turn{
            .order = part.order, .number = entry.number, .wanted = entry.wanted, .looks = true};
        turn.could = entry.candidates;
        if (!entry.units.empty()) {
            turn.state = State::taken;
            return turn;
        }
        const auto verdict = decide(hosts_[part.host].board, entry);
        turn.state = verdict.fits && (entry.is_final || entry.id == 0) ? State::fits : State::waits;
        turn.place = verdict.place;
        turn.free = verdict.free;
        return turn;
    }
    void drop(Part& part) {
        std::erase_if(hosts_[part.host].board.entries,
                      [&](const BoardEntry& entry) { return entry.id == part.entry.id; });
        part.entry.units.clear();
        changed(part.host);
    }
    void obey(Part& part, const wire::JobCommand& order) {
        auto& board = hosts_[part.host].board;
        part.order = order.order;
        if (order.type == Type::line) {
            drop(part);
            part.entry.id = part.entry.id == 0 ? ++board.last_id : part.entry.id;
            part.entry.is_final = order.number > 0;
            part.entry.number = order.number > 0 ? order.number : board.last_number + 1;
            board.last_number = std::max(board.last_number, part.entry.number);
            board.entries.push_back(part.entry);
        } else if (order.type == Type::look) {
            drop(part);
            part.entry.id = 0;
            part.entry.number = 0;
            part.entry.is_final = false;
        } else if (part.entry.units.empty() && (part.entry.is_final || part.entry.id == 0)) {
            take(part, board);
        }
        tell(part);
    }
    void take(Part& part, Board& board) {
        auto verdict = decide(board, part.entry);
        if (!verdict.fits) {
            return;
        }
        const auto before = shares_before(board, part);
        std::ranges::shuffle(verdict.free, random_); // whatever the choice among them is
        drop(part);
        part.entry.id = part.entry.id == 0 ? ++board.last_id : part.entry.id;
        for (int i = 0; i < part.entry.wanted; ++i) {
            const auto& unit = verdict.free[static_cast<std::size_t>(i)];
            REQUIRE(holder_of(board.entries, unit) == nullptr);
            part.entry.units.push_back({.id = unit});
        }
        board.entries.push_back(part.entry);
        CHECK(shares_before(board, part) == before);
    }
    // How many units each one before `part` could have: what the part takes must not be any of theirs.
    static std::vector<std::size_t> shares_before(const Board& board, const Part& part) {
        std::vector<std::size_t> shares;
        for (const auto& entry : board.entries) {
            if (entry.units.empty() && entry.id != part.entry.id &&
                (part.entry.number == 0 || goes_before(entry, part.entry))) {
                const auto free = decide(board, entry).free.size();
                shares.push_back(std::min(free, static_cast<std::size_t>(entry.wanted)));
            }
        }
        return shares;
    }
    void tell(Part& part) {
        part.told = answer(part);
        part.turns.push_back(part.told);
    }
    void changed(std::size_t host) {
        for (const auto& job : jobs_) {
            for (auto& part : job->parts) {
                part.dirty = part.dirty || (part.is_open && !job->running && part.host == host);
            }
        }
    }

    // One step of what is under way between a client and a node, whose stream keeps its order.
    void go_on(Job& job, Part& part) {
        if (!part.orders.empty() && (part.turns.empty() || upto(0, 1) == 0)) {
            const auto order = part.orders.front();
            part.orders.pop_front();
            part.is_open ? obey(part, order) : void();
        } else if (!part.turns.empty() && job.line) {
            const auto index = static_cast<std::size_t>(&part - job.parts.data());
            const auto turn = part.turns.front();
            part.turns.pop_front();
            if (job.line->is_heard(index)) {
                job.line->hear(index, turn);
                decide_of(job);
            }
        } else {
            part.dirty = false;
            if (part.is_open && part.entry.units.empty() && answer(part) != part.told) {
                tell(part);
            }
        }
    }

    // The client's side.
    void decide_of(Job& job) {
        const auto was_in_line = job.line->number() > 0;
        for (const auto& [part, command] : job.line->decide(now_ms_)) {
            job.parts[part].orders.push_back(command);
        }
        waited += !was_in_line && job.line->number() > 0 ? 1 : 0;
        if (!job.line->taken()) {
            return;
        }
        const auto& targets = job.line->targets();
        CHECK(targets.size() == job.choice.seats.front().count);
        for (std::size_t i = 0; i < job.parts.size(); ++i) {
            auto& part = job.parts[i];
            part.orders.clear();
            part.turns.clear();
            if (std::ranges::find(targets, i) == targets.end()) {
                part.is_open = false;
                drop(part);
            } else {
                CHECK(part.entry.units.size() == static_cast<std::size_t>(part.entry.wanted));
                moved += job.line->number() > 0 && part.entry.number == 0 ? 1 : 0;
            }
            part.dirty = false;
        }
        at_once += job.line->number() == 0 ? 1 : 0;
        job.running = true;
        job.line.reset();
    }
    void end(Job& job) {
        job.running = false;
        for (auto& part : job.parts) {
            part.is_open = false;
            drop(part);
        }
        std::erase_if(jobs_, [&](const auto& one) { return one.get() == &job; });
    }
    // After a refusal they pause.
    bool wake() {
        std::optional<std::int64_t> first;
        for (const auto& job : jobs_) {
            if (const auto at = job->line ? job->line->wake_at_ms() : std::nullopt) {
                first = std::min(first.value_or(*at), *at);
            }
        }
        if (!first) {
            return false;
        }
        now_ms_ = *first;
        for (const auto& job : jobs_) {
            if (job->line) {
                decide_of(*job);
            }
        }
        return true;
    }

    // When nothing is under way: by the boards as they are.
    void check_none_waits_that_fits() const {
        for (const auto& job : jobs_) {
            if (!job->line) {
                continue;
            }
            std::vector<Site> sites;
            for (const auto& part : job->parts) {
                const auto verdict = decide(hosts_[part.host].board, part.entry);
                sites.push_back({.fits = verdict.fits,
                                 .wanted = part.entry.wanted,
                                 .could = part.entry.candidates,
                                 .free = verdict.free});
            }
            CHECK_FALSE(place(sites, job->choice.seats));
        }
    }

    std::mt19937 random_;
    std::size_t left_; // jobs that have not come yet
    std::vector<Host> hosts_{};
    std::vector<std::size_t> nodes_{}; // the host of each
    std::vector<std::unique_ptr<Job>> jobs_{};
    std::int64_t now_ms_ = 1000;
};

} // namespace

TEST_CASE(
    "any free nodes: never two jobs on a unit, none waits that fits, no earlier one is harmed, all end") {
    const unsigned simulations = simulate_all() ? 200 : 40;
    int waited = 0;
    int moved = 0;
    int at_once = 0;
    for (unsigned seed = 1; seed <= simulations; ++seed) {
        CAPTURE(seed);
        Simulation simulation(seed, simulate_all() ? 1000 : 20);
        simulation.run();
        waited += simulation.waited;
        moved += simulation.moved;
        at_once += simulation.at_once;
    }
    CAPTURE(waited);
    CAPTURE(moved);
    CAPTURE(at_once);
    CHECK(waited > 100); // else it would prove nothing
    CHECK(moved > 20);
    CHECK(at_once > 200);
}

} // namespace any_nodes_simulation_test
