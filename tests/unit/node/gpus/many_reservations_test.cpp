// Many parts on one host, as their clients and accidents would have it: whatever happens, no unit is two's,
// and all come to their end.
#include "node/gpus/reservation.hpp"
#include "unit/node/gpus/shared_board.hpp"
#include "unit/node/turned_loop.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

namespace many_reservations_test {

using namespace dockdist;
using namespace dockdist::node;
using State = wire::GpuTurn::State;

namespace {

constexpr int slots = 3;
constexpr int jobs_in_all = 20;
constexpr std::size_t at_once = 8;

class Simulation {
public:
    explicit Simulation(unsigned seed) : random_(seed) {}

    void run() {
        int opened = 0;
        for (int steps = 0; opened < jobs_in_all || !parts_.empty(); ++steps) {
            REQUIRE(steps < 20000);
            if (opened < jobs_in_all && parts_.size() < at_once && chance(3)) {
                open("job-" + std::to_string(++opened));
            }
            if (chance(20)) {
                spoil();
            }
            if (!parts_.empty()) {
                step(*parts_[upto(parts_.size())]);
            }
            time_.pass(chance(4) ? 300 : 10);
            check();
            std::erase_if(parts_, [](const auto& part) { return part->gone; });
        }
        time_.pass(300);
        CHECK(SharedBoard::jobs().empty());
    }
    int taken() const { return taken_; }

private:
    struct Part {
        std::unique_ptr<Reservation> reservation{};
        HeldUnits held{};
        wire::GpuTurn turn{};
        std::int64_t order = 0;
        bool told = false;
        bool gone = false;
    };

    std::size_t upto(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }
    bool chance(std::size_t one_in) { return upto(one_in) == 0; }

    void open(const std::string& job) {
        auto& part = *parts_.emplace_back(std::make_unique<Part>());
        part.reservation = std::make_unique<Reservation>(
            time_.loop,
            GpuRequest{.who = {.cluster = "c", .node = "n", .job = job},
                       .ask = {.count = static_cast<int>(upto(slots)) + 1, .priority = chance(5) ? 1 : 0}},
            KnownGpus{.cluster = "c", .node = "n", .slots = slots},
            Reservation::Listener{.on_turn =
                                      [&part](const wire::GpuTurn& turn) {
                                          part.turn = turn;
                                          part.told = true;
                                      },
                                  .on_error = [](const Error& error) { FAIL(to_text(error)); }});
        part.reservation->begin();
    }

    // What its client does next, or what becomes of it.
    void step(Part& part) {
        if (!part.reservation) { // it runs
            if (chance(3)) {
                chance(2) ? part.held.give_back() : static_cast<void>(part.held = HeldUnits());
                part.gone = true;
            }
        } else if (!part.told) {
            return;
        } else if (chance(25)) { // stopped, or killed
            part.reservation.reset();
            part.gone = true;
        } else if (part.turn.state == State::taken && chance(2)) {
            part.held = part.reservation->hand_over();
            part.reservation.reset();
            ++taken_;
        } else if (part.turn.state == State::taken || (part.turn.number == 0 && part.order == 0)) {
            part.reservation->line(part.turn.number, ++part.order); // another node has refused
        } else if (part.turn.state == State::fits) {
            part.reservation->take(++part.order);
        } else if (part.turn.number > 0 && chance(2)) {
            part.reservation->line(part.turn.number, ++part.order);
        }
    }

    void spoil() {
        std::ofstream(host_.scratch / "new") << "garbage";
        REQUIRE(::rename((host_.scratch / "new").c_str(), (host_.scratch / "board.json").c_str()) == 0);
    }

    void check() {
        std::map<std::string, int> holders;
        for (const auto& part : parts_) {
            const auto& units = !part->reservation                 ? part->held.units()
                                : part->turn.state == State::taken ? part->turn.units
                                                                   : std::vector<wire::GpuUnit>();
            for (const auto& unit : units) {
                ++holders[unit.id];
            }
        }
        for (const auto& [id, count] : holders) {
            CAPTURE(id);
            CHECK(count == 1);
        }
    }

    SharedBoard host_{};
    TurnedLoop time_{};
    std::mt19937 random_;
    std::vector<std::unique_ptr<Part>> parts_{};
    int taken_ = 0;
};

} // namespace

TEST_CASE("whatever happens to those who wait and hold, no unit is two's, and all come to their end") {
    int taken = 0;
    for (unsigned seed = 1; seed <= 2; ++seed) {
        CAPTURE(seed);
        Simulation simulation(seed);
        simulation.run();
        taken += simulation.taken();
    }
    CHECK(taken > 10);
}

} // namespace many_reservations_test
