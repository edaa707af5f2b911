#include "client/export/marked_words.hpp"

#include <doctest/doctest.h>

namespace marked_words_test {

using namespace dockdist;

namespace {

std::string name_of(const WordPart& part) {
    switch (part.kind) {
    case WordPart::Kind::address:
        return "$A" + std::to_string(part.index);
    case WordPart::Kind::own_address:
        return "$OWN";
    case WordPart::Kind::port:
        return "$P" + std::to_string(part.index);
    case WordPart::Kind::node_rank:
        return "$RANK";
    case WordPart::Kind::ranks:
        return "$SLOTS";
    case WordPart::Kind::first_rank:
        return "$FIRST";
    default:
        return "$OTHER";
    }
}

struct Made {
    LaunchRequest request{};
    Markers markers;
    explicit Made(std::vector<std::string> command)
        : request{.command = std::move(command), .nodes = std::vector<LaunchNode>(12)}, markers(request, 2) {
        markers.put_into(request, {});
    }
    std::string one(const std::vector<std::string>& words, std::size_t first = 0) const {
        NodeNumbers numbers;
        for (int i = 0; i < 12; ++i) {
            numbers.ranks.push_back(i % 2 == 0 ? 4 : 8);
            numbers.first_rank.push_back(6 * i);
        }
        const auto word = unify(markers, {words.begin(), words.end()}, first, numbers);
        return word ? to_shell(*word, name_of) : "(none)";
    }
};

} // namespace

TEST_CASE("what the engine decides becomes variables, and all else stays as it is") {
    const Made made({"a"});
    const auto& nodes = made.request.nodes;
    CHECK(made.one({"--addr=" + nodes[0].address + ":" + std::to_string(made.request.ports[1].number)}) ==
          R"(--addr="$A0":"$P1")");
    CHECK(made.one({"it's"}) == R"('it'\''s')");
    CHECK(made.one({""}) == "''");
    CHECK(made.one({"1" + std::to_string(made.request.ports[0].number)}) ==
          "1" + std::to_string(made.request.ports[0].number)); // another number
}

TEST_CASE("words that differ by the node's rank, slots or first rank are one word") {
    const Made made({"a"});
    std::vector<std::string> ranks;
    std::vector<std::string> slots;
    std::vector<std::string> firsts;
    for (int i = 0; i < 12; ++i) {
        ranks.push_back("--rank=" + std::to_string(i) + "0;");
        slots.push_back("--n=" + std::to_string(i % 2 == 0 ? 4 : 8));
        firsts.push_back(std::to_string(6 * i));
    }
    CHECK(made.one(ranks) == "(none)"); // 0, 10, 20 are numbers of their own
    for (auto& word : ranks) {
        word = word.substr(0, word.size() - 2) + ";";
    }
    CHECK(made.one(ranks) == R"(--rank="$RANK"';')");
    CHECK(made.one(slots) == R"(--n="$SLOTS")");
    CHECK(made.one(firsts) == R"("$FIRST")");
    CHECK(made.one({"head", "worker"}) == "(none)");
}

TEST_CASE("a node's own address is told apart from the first one's") {
    const Made made({"a"});
    const auto& nodes = made.request.nodes;
    CHECK(made.one({nodes[1].address, nodes[2].address}, 1) == R"("$OWN")");
    CHECK(made.one({nodes[3].address, nodes[3].address}, 1) == R"("$A3")");
    CHECK(made.one({nodes[1].address, nodes[3].address}, 1) == "(none)");
}

TEST_CASE("what the user has written is never taken for a marker") {
    const Made first({"a"});
    const Made made({first.request.nodes[0].address, std::to_string(first.request.ports[0].number)});
    CHECK(made.one({first.request.nodes[0].address}) == first.request.nodes[0].address);
    CHECK(made.one({std::to_string(first.request.ports[0].number)}) ==
          std::to_string(first.request.ports[0].number));
}

TEST_CASE("lines of a here-document say what they said, with the variables in it") {
    const Made made({"a"});
    const auto word = made.markers.read("a `b` $c \\d " + made.request.nodes[0].address + "\n");
    CHECK(to_here_document(word, name_of) == "a \\`b\\` \\$c \\\\d $A0\n");
}

} // namespace marked_words_test
