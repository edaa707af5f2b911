// Many jobs on a few hosts, with messages that arrive in any order: whatever that order is, the line holds.
#include "shared/gpu/board.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <set>

namespace line_simulation_test {

using namespace dockdist;

namespace {

constexpr int jobs_in_all = 30;

struct Part {
    std::size_t host = 0;
    BoardEntry entry{};
    bool fits = false; // as its node said last
    bool taken = false;
    std::int64_t proposal = 0;
};

// A client, and its nodes' answers as they have reached it.
struct Job {
    std::string name{};
    std::vector<Part> parts{};
    int priority = 0;
    enum class State { opening, proposing, waiting, taking, running, ended } state = State::opening;
    int answers_missing = 0;
    std::int64_t number = 0;
};

class Simulation {
public:
    explicit Simulation(unsigned seed) : random_(seed) {
        hosts_.resize(upto(1, 3));
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
            const auto count = upto(1, 5);
            for (std::size_t i = 0; i < count; ++i) {
                hosts_[host].units.push_back("h" + std::to_string(host) + "g" + std::to_string(i));
            }
        }
        for (int i = 0; i < jobs_in_all; ++i) {
            jobs_.push_back(make_job(i));
        }
    }

    // Every message is delivered in the end, but in any order between different pairs; and a job that runs
    // ends when it likes.
    void run() {
        std::size_t opened = 0;
        while (true) {
            if (messages_.empty()) {
                check_nothing_idles();
            }
            std::vector<Job*> running;
            for (auto& job : jobs_) {
                if (job.state == Job::State::running) {
                    running.push_back(&job);
                }
            }
            const std::size_t opening = opened < jobs_.size() ? 1 : 0;
            const auto choices = opening + messages_.size() + running.size();
            if (choices == 0) {
                break;
            }
            if (const auto chosen = upto(0, choices - 1); chosen < messages_.size()) {
                deliver(chosen);
            } else if (chosen < messages_.size() + running.size()) {
                end(*running[chosen - messages_.size()]);
            } else {
                open(jobs_[opened++]);
            }
        }
        CHECK(std::ranges::all_of(jobs_, [](const Job& job) { return job.state == Job::State::ended; }));
        for (const auto& host : hosts_) {
            CHECK(host.board.entries.empty());
        }
    }
    int waited() const { return waited_; }

private:
    struct Host {
        Board board{};
        std::vector<std::string> units{};
    };
    struct Message {
        Job* job = nullptr;
        std::function<void()> arrive{};
    };

    std::size_t upto(std::size_t least, std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(least, most)(random_);
    }

    Job make_job(int index) {
        Job job{.name = "job-" + std::to_string(index), .priority = upto(0, 9) == 0 ? 1 : 0};
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
            const auto& units = hosts_[host].units;
            if (upto(0, 1) == 0 && !(job.parts.empty() && host + 1 == hosts_.size())) {
                continue;
            }
            Part part{.host = host};
            // Most see all of the host, some only a part of it.
            const auto seen = upto(0, 3) == 0 ? upto(1, units.size()) : units.size();
            part.entry.candidates.assign(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(seen));
            part.entry.wanted = static_cast<int>(upto(1, seen));
            part.entry.priority = job.priority;
            part.entry.who = {.cluster = "c", .node = "n" + std::to_string(host), .job = job.name};
            job.parts.push_back(part);
        }
        return job;
    }

    void to_nodes(Job& job, const std::function<void(Part&)>& order, std::function<void()> answered) {
        job.answers_missing = static_cast<int>(job.parts.size());
        for (auto& part : job.parts) {
            messages_.push_back({&job, [this, &job, &part, order, answered] {
                                     order(part);
                                     messages_.push_back({&job, [&job, answered] {
                                                              if (--job.answers_missing == 0) {
                                                                  answered();
                                                              }
                                                          }});
                                 }});
        }
    }
    void deliver(std::size_t index) {
        const auto message = std::move(messages_[index]);
        messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
        message.arrive();
    }

    // The node's side: what the reservation does under the mutex.
    BoardEntry* entry_of(Part& part) {
        auto& entries = hosts_[part.host].board.entries;
        const auto found = std::ranges::find(entries, part.entry.id, &BoardEntry::id);
        return found == entries.end() ? nullptr : &*found;
    }
    void drop(Part& part) {
        auto& entries = hosts_[part.host].board.entries;
        std::erase_if(entries, [&](const BoardEntry& entry) { return entry.id == part.entry.id; });
    }
    void take(Part& part) {
        auto& host = hosts_[part.host];
        const auto verdict = decide(host.board, part.entry);
        part.taken = verdict.fits;
        if (!verdict.fits) {
            return;
        }
        REQUIRE(verdict.free.size() >= static_cast<std::size_t>(part.entry.wanted));
        auto free = verdict.free;
        std::ranges::shuffle(free, random_); // whatever the choice among them is
        auto held = part.entry;
        for (int i = 0; i < part.entry.wanted; ++i) {
            held.units.push_back({.id = free[static_cast<std::size_t>(i)]});
        }
        const auto before = shares_before(host.board, part);
        drop(part);
        if (held.id == 0) {
            held.id = part.entry.id = ++host.board.last_id;
        }
        host.board.entries.push_back(held);
        check_never_two(host.board);
        CHECK(shares_before(host.board, part) == before);
    }
    void get_in_line(Part& part, std::int64_t number) {
        auto& board = hosts_[part.host].board;
        drop(part);
        if (part.entry.id == 0) {
            part.entry.id = ++board.last_id;
        }
        part.taken = false;
        part.entry.is_final = number > 0;
        part.entry.number = number > 0 ? number : board.last_number + 1;
        board.last_number = std::max(board.last_number, part.entry.number);
        part.proposal = part.entry.number;
        board.entries.push_back(part.entry);
    }

    // The client's side.
    void open(Job& job) {
        to_nodes(
            job, [this](Part& part) { take(part); },
            [this, &job] {
                if (all_taken(job)) {
                    return begin(job);
                }
                job.state = Job::State::proposing;
                ++waited_;
                to_nodes(job, [this](Part& part) { get_in_line(part, 0); }, [this, &job] { finalize(job); });
            });
    }
    void finalize(Job& job) {
        for (const auto& part : job.parts) {
            job.number = std::max(job.number, part.proposal);
        }
        to_nodes(
            job, [this, &job](Part& part) { get_in_line(part, job.number); },
            [this, &job] {
                job.state = Job::State::waiting;
                look(job);
            });
    }
    // As it would be told by its nodes: what is on their boards now.
    void look(Job& job) {
        for (auto& part : job.parts) {
            part.fits = decide(hosts_[part.host].board, part.entry).fits;
        }
        if (job.state == Job::State::waiting &&
            std::ranges::all_of(job.parts, [](const Part& part) { return part.fits; })) {
            job.state = Job::State::taking;
            to_nodes(
                job, [this](Part& part) { take(part); },
                [this, &job] {
                    if (all_taken(job)) {
                        return begin(job);
                    }
                    finalize(job);
                });
        }
    }
    static bool all_taken(const Job& job) {
        return std::ranges::all_of(job.parts, [](const Part& part) { return part.taken; });
    }
    void begin(Job& job) {
        job.state = Job::State::running;
        look_all();
    }
    void end(Job& job) {
        for (auto& part : job.parts) {
            drop(part);
        }
        job.state = Job::State::ended;
        look_all();
    }
    void look_all() {
        for (auto& job : jobs_) {
            look(job);
        }
    }

    static void check_never_two(const Board& board) {
        std::set<std::string> held;
        for (const auto& entry : board.entries) {
            for (const auto& unit : entry.units) {
                CHECK(held.insert(unit.id).second);
            }
        }
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
    // When nothing is on its way, whoever is first everywhere does not fit: else it would have begun.
    void check_nothing_idles() {
        look_all();
        if (!messages_.empty()) {
            return;
        }
        for (const auto& job : jobs_) {
            if (job.state != Job::State::waiting) {
                continue;
            }
            const bool fits = std::ranges::all_of(job.parts, [&](const Part& part) {
                const auto& board = hosts_[part.host].board;
                std::size_t free = 0;
                for (const auto& id : part.entry.candidates) {
                    free += std::ranges::none_of(board.entries,
                                                 [&](const BoardEntry& entry) {
                                                     return std::ranges::find(entry.units, id,
                                                                              &wire::GpuUnit::id) !=
                                                            entry.units.end();
                                                 })
                                ? 1U
                                : 0U;
                }
                const bool first = std::ranges::none_of(board.entries, [&](const BoardEntry& entry) {
                    return entry.units.empty() && goes_before(entry, part.entry);
                });
                return first && free >= static_cast<std::size_t>(part.entry.wanted);
            });
            CHECK_FALSE(fits);
        }
    }

    std::mt19937 random_;
    std::vector<Host> hosts_{};
    std::deque<Job> jobs_{};
    std::vector<Message> messages_{};
    int waited_ = 0;
};

} // namespace

TEST_CASE("many jobs over several hosts: never two on one unit, none overtaken, nothing idle, all end") {
    int waited = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
        CAPTURE(seed);
        Simulation simulation(seed);
        simulation.run();
        waited += simulation.waited();
    }
    CHECK(waited > 120); // else it would prove nothing
}

} // namespace line_simulation_test
