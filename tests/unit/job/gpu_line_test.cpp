#include "client/job/gpu_line.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace gpu_line_test {

using namespace dockdist;
using State = wire::GpuTurn::State;
using Type = wire::JobCommand::Type;

namespace {

wire::GpuTurn says(State state, std::int64_t order, std::int64_t number) {
    return {.state = state, .order = order, .number = number};
}

// "line 0→0, line 0→1": each order with its number in line and its part.
std::string text_of(const std::vector<GpuLine::Order>& orders) {
    std::string text;
    for (const auto& [part, command] : orders) {
        text += (text.empty() ? "" : ", ") +
                std::string(command.type == Type::line   ? "line "
                            : command.type == Type::take ? "take "
                                                         : "look ") +
                std::to_string(command.number) + "→" + std::to_string(part);
    }
    return text;
}

// A line over nodes that obey at once, unless they are told otherwise.
struct Nodes {
    explicit Nodes(std::vector<wire::GpuTurn> opened, Choice choice = {})
        : line(std::move(opened), std::move(choice)) {}

    std::string decide() {
        const auto orders = line.decide(now_ms);
        for (const auto& [part, command] : orders) {
            last[part] = command;
        }
        return text_of(orders);
    }
    // The answer to the last order that the part was given.
    void answer(std::size_t part, State state, std::int64_t number) {
        line.hear(part, says(state, last[part].order, number));
    }

    GpuLine line;
    std::map<std::size_t, wire::JobCommand> last{};
    std::int64_t now_ms = 1000;
};

// Two nodes in line with the number 7; the first one's GPU is not free.
Nodes in_line() {
    Nodes nodes({says(State::waits, 0, 0), says(State::taken, 0, 0)});
    nodes.decide();
    nodes.answer(0, State::waits, 3);
    nodes.answer(1, State::fits, 7);
    nodes.decide();
    nodes.answer(0, State::waits, 7);
    nodes.answer(1, State::fits, 7);
    return nodes;
}

} // namespace

TEST_CASE("where all nodes have taken at once nothing is said") {
    Nodes nodes({says(State::taken, 0, 0), says(State::none, 0, 0), says(State::taken, 0, 0)});
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.taken());
    Nodes shared({says(State::none, 0, 0)});
    CHECK(shared.decide().empty());
    CHECK(shared.line.taken());
}

TEST_CASE("where one waits all get into line, with the greatest number that any proposes") {
    Nodes nodes({says(State::taken, 0, 0), says(State::waits, 0, 0), says(State::none, 0, 0)});
    CHECK(nodes.decide() == "line 0→0, line 0→1"); // a node without GPUs to take is in no line
    nodes.answer(0, State::fits, 12);
    CHECK(nodes.decide().empty());
    CHECK_FALSE(nodes.line.has_to_wait());
    nodes.answer(1, State::waits, 4);
    CHECK(nodes.decide() == "line 12→0, line 12→1");
    CHECK(nodes.line.number() == 12);
    CHECK_FALSE(nodes.line.has_to_wait()); // nobody has answered yet
    nodes.answer(0, State::fits, 12);
    nodes.answer(1, State::waits, 12);
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.has_to_wait());
}

TEST_CASE("it takes when it fits everywhere, and is done when all have taken") {
    auto nodes = in_line();
    CHECK(nodes.decide().empty());
    nodes.answer(0, State::fits, 7); // said by itself, when a GPU became free
    CHECK(nodes.decide() == "take 7→0, take 7→1");
    CHECK(nodes.line.is_heard(0));
    nodes.answer(0, State::taken, 0);
    CHECK(nodes.decide().empty());
    CHECK_FALSE(nodes.line.taken());
    CHECK_FALSE(nodes.line.is_heard(0)); // what it says next belongs to the job that runs
    CHECK(nodes.line.is_heard(1));
    nodes.answer(1, State::taken, 0);
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.taken());
}

TEST_CASE("one that refuses makes all give back, and their places in line stay") {
    auto nodes = in_line();
    nodes.answer(0, State::fits, 7);
    nodes.decide();
    nodes.answer(1, State::taken, 0);
    CHECK(nodes.decide().empty());
    nodes.answer(0, State::waits, 7);
    CHECK(nodes.decide() == "line 7→0, line 7→1");
    CHECK(nodes.line.is_heard(1));
    nodes.answer(0, State::waits, 7);
    nodes.answer(1, State::fits, 7);
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.has_to_wait());
    nodes.answer(0, State::fits, 7);
    CHECK(nodes.decide() == "take 7→0, take 7→1");
}

TEST_CASE("what was said before an order is no answer to it") {
    auto nodes = in_line();
    nodes.answer(0, State::fits, 7);
    const auto fitting = says(State::fits, nodes.last[1].order, 7);
    const auto waiting = says(State::waits, nodes.last[0].order, 7);
    CHECK(nodes.decide() == "take 7→0, take 7→1");
    nodes.line.hear(1, fitting);
    nodes.line.hear(0, waiting);
    CHECK(nodes.decide().empty()); // neither has refused
    nodes.answer(0, State::waits, 7);
    const auto taken = says(State::taken, nodes.last[1].order, 0); // on its way
    CHECK(nodes.decide() == "line 7→0, line 7→1");
    nodes.answer(0, State::fits, 7);
    nodes.line.hear(1, taken);
    CHECK(nodes.decide().empty()); // it is about to give back
    CHECK_FALSE(nodes.line.taken());
    nodes.answer(1, State::fits, 7);
    CHECK(nodes.decide() == "take 7→0, take 7→1");
}

TEST_CASE("a node that was opened anew gets into line again") {
    SUBCASE("before there is a number") {
        Nodes nodes({says(State::waits, 0, 0), says(State::taken, 0, 0)});
        nodes.decide();
        nodes.answer(0, State::waits, 3);
        nodes.line.reopened(0, says(State::taken, 0, 0));
        CHECK(nodes.decide() == "line 0→0");
        nodes.answer(1, State::fits, 9);
        CHECK(nodes.decide().empty());
        nodes.answer(0, State::waits, 5);
        CHECK(nodes.decide() == "line 9→0, line 9→1");
    }
    SUBCASE("with its number, while it waits") {
        auto nodes = in_line();
        nodes.line.reopened(0, says(State::fits, 0, 7));
        CHECK(nodes.decide() == "line 7→0");
        nodes.answer(0, State::fits, 7);
        CHECK(nodes.decide() == "take 7→0, take 7→1");
    }
    SUBCASE("and has lost what it took") {
        auto nodes = in_line();
        nodes.answer(0, State::fits, 7);
        nodes.decide();
        nodes.answer(1, State::taken, 0);
        nodes.decide();
        nodes.line.reopened(0, says(State::fits, 0, 7));
        CHECK(nodes.decide() == "line 7→0, line 7→1");
    }
}

TEST_CASE("a node that says that it fits and always refuses is asked ever more slowly") {
    auto nodes = in_line();
    std::vector<std::int64_t> asked;
    nodes.answer(0, State::fits, 7);
    while (asked.size() < 9) {
        if (const auto wake = nodes.line.wake_at_ms()) {
            nodes.now_ms = *wake;
        }
        const auto orders = nodes.decide();
        if (orders.starts_with("take")) {
            asked.push_back(nodes.now_ms - 1000);
            nodes.answer(0, State::waits, 7);
            nodes.answer(1, State::taken, 0);
        } else {
            nodes.answer(0, State::fits, 7);
            nodes.answer(1, State::fits, 7);
        }
    }
    CHECK(asked == std::vector<std::int64_t>{0, 0, 0, 100, 300, 700, 1500, 3100, 6300});
    nodes.now_ms += 60000; // that was long ago
    nodes.decide();
    nodes.answer(0, State::fits, 7);
    nodes.answer(1, State::fits, 7);
    CHECK(nodes.decide() == "take 7→0, take 7→1");
    nodes.answer(0, State::waits, 7);
    nodes.decide();
    nodes.answer(0, State::fits, 7);
    nodes.answer(1, State::fits, 7);
    CHECK(nodes.decide() == "take 7→0, take 7→1");
}

namespace {

// Of three nodes any two.
Nodes any_two(State first, State second, State third) {
    return Nodes({says(first, 0, 0), says(second, 0, 0), says(third, 0, 0)},
                 {.seats = {{.count = 2, .among = {0, 1, 2}}}});
}

// In line with the number 7 on the first two; on the third one there is somebody, too.
Nodes any_two_in_line() {
    auto nodes = any_two(State::waits, State::waits, State::waits);
    CHECK(nodes.decide() == "line 0→0, line 0→1");
    nodes.answer(0, State::waits, 3);
    nodes.answer(1, State::waits, 7);
    CHECK(nodes.decide() == "line 7→0, line 7→1");
    nodes.answer(0, State::waits, 7);
    nodes.answer(1, State::waits, 7);
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.has_to_wait());
    return nodes;
}

} // namespace

TEST_CASE("any of several: it takes those that fit, and stands in no line") {
    auto nodes = any_two(State::waits, State::fits, State::fits);
    CHECK(nodes.line.targets() == std::vector<std::size_t>{1, 2});
    CHECK(nodes.decide() == "take 0→1, take 0→2");
    CHECK(nodes.line.is_heard(0));
    nodes.answer(1, State::taken, 0);
    nodes.answer(2, State::taken, 0);
    CHECK(nodes.decide().empty());
    CHECK(nodes.line.taken());
    CHECK(nodes.line.number() == 0);
}

TEST_CASE("any of several: a refusal brings a new look, and other nodes") {
    auto nodes = any_two(State::fits, State::fits, State::fits);
    CHECK(nodes.decide() == "take 0→0, take 0→1");
    nodes.answer(0, State::waits, 0); // somebody was quicker
    CHECK(nodes.decide() == "look 0→0, look 0→1");
    nodes.answer(0, State::waits, 0);
    CHECK(nodes.decide().empty());
    nodes.answer(1, State::fits, 0);
    CHECK(nodes.decide() == "take 0→1, take 0→2");
}

TEST_CASE("any of several: two that refuse each other all of them get into line, whose order decides") {
    auto nodes = any_two(State::fits, State::fits, State::waits);
    for (int i = 0; i < 2; ++i) {
        CHECK(nodes.decide() == "take 0→0, take 0→1");
        nodes.answer(0, State::taken, 0);
        nodes.answer(1, State::waits, 0);
        CHECK(nodes.decide() == "look 0→0, look 0→1");
        nodes.answer(0, State::fits, 0);
        nodes.answer(1, State::fits, 0);
    }
    CHECK(nodes.decide() == "line 0→0, line 0→1");
}

TEST_CASE("any of several: while it waits for some it takes others that fit at once") {
    auto nodes = any_two_in_line();
    nodes.line.hear(2, says(State::fits, 0, 0));
    CHECK(nodes.decide().empty()); // one is not enough
    nodes.answer(1, State::fits, 7);
    CHECK(nodes.decide() == "take 7→1, take 7→2"); // with its ticket and without one
    SUBCASE("and has these") {
        nodes.answer(2, State::taken, 0);
        nodes.answer(1, State::taken, 7);
        CHECK(nodes.decide().empty());
        CHECK(nodes.line.taken());
        CHECK(nodes.line.targets() == std::vector<std::size_t>{1, 2});
    }
    SUBCASE("and where one refuses stands in line where it stood") {
        nodes.answer(1, State::taken, 7);
        nodes.answer(2, State::waits, 0);
        CHECK(nodes.decide() == "line 7→0, line 7→1, look 7→2");
        CHECK(nodes.line.targets() == std::vector<std::size_t>{0, 1});
        nodes.answer(0, State::waits, 7);
        nodes.answer(1, State::fits, 7);
        nodes.answer(2, State::waits, 0);
        CHECK(nodes.decide().empty());
        CHECK(nodes.line.has_to_wait());
    }
}

TEST_CASE("any of several: what a node has said before its last order is no free node") {
    auto nodes = any_two_in_line();
    nodes.line.hear(2, says(State::fits, 0, 0));
    nodes.line.hear(0, says(State::fits, 0, 0)); // before it was in line
    CHECK(nodes.decide().empty());
}

TEST_CASE("any of several: a lost node is done without, where enough are left") {
    auto nodes = any_two_in_line();
    CHECK(nodes.line.lost(1)); // where it stands in line
    CHECK_FALSE(nodes.line.is_heard(1));
    CHECK(nodes.decide() == "look 0→0");
    nodes.answer(0, State::waits, 0);
    CHECK(nodes.decide() == "line 0→0, line 0→2");
    CHECK_FALSE(nodes.line.lost(2));
}

TEST_CASE("any of several: a stream that breaks on a node where it only looks is looked at again") {
    auto nodes = any_two_in_line();
    nodes.line.reopened(2, says(State::waits, 0, 0));
    CHECK(nodes.decide().empty());
    nodes.line.reopened(0, says(State::waits, 0, 7));
    CHECK(nodes.decide() == "line 7→0");
    nodes.answer(0, State::fits, 7);
    nodes.line.hear(2, says(State::fits, 0, 0));
    CHECK(nodes.decide() == "take 7→0, take 7→2");
}

} // namespace gpu_line_test
