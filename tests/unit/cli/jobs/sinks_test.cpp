// A job's output as commands print it.
#include "client/cli/jobs/json_job_sink.hpp"
#include "client/job/job_screen.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace sinks_test {

using namespace dockdist;

namespace {

class Written : public OutputSink {
public:
    void write(int fd, const Displayable& shown) override { text[fd] += shown.bytes(); }
    std::map<int, std::string> text{};
};

std::vector<nlohmann::json> lines(const std::string& text) {
    std::vector<nlohmann::json> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        all.push_back(nlohmann::json::parse(line));
    }
    return all;
}

const NodeName node_0("node-0");
const NodeName node_1("node-1");

} // namespace

TEST_CASE("-o json has a line of JSON for each line of the job, whole, whatever piece it came in") {
    Written written;
    JsonJobSink sink(written);
    sink.output(node_0, 3, StdStream::out, "epo");
    sink.output(node_1, -1, StdStream::err, "warning\nha");
    sink.output(node_0, 3, StdStream::out, "ch 1\n\nepoch");
    sink.flush();
    CHECK(written.text[1] ==
          R"({"line":"warning","node":"node-1","rank":-1,"stream":"stderr","type":"output"})"
          "\n"
          R"({"line":"epoch 1","node":"node-0","rank":3,"stream":"stdout","type":"output"})"
          "\n"
          R"({"line":"","node":"node-0","rank":3,"stream":"stdout","type":"output"})"
          "\n");
    CHECK_FALSE(written.text.contains(2));
}

TEST_CASE("-o json names the rank that a command without a launcher is") {
    Written written;
    JsonJobSink sink(written);
    sink.number_commands({{"node-0", 4}});
    sink.output(node_0, -1, StdStream::out, "one\n");
    sink.output(node_0, 3, StdStream::out, "of its own\n");
    sink.output(node_1, -1, StdStream::out, "nobody's\n");
    sink.flush();
    const auto told = lines(written.text[1]);
    REQUIRE(told.size() == 3);
    CHECK(told[0]["rank"] == 4);
    CHECK(told[1]["rank"] == 3);
    CHECK(told[2]["rank"] == -1);
}

TEST_CASE("a line of another kind is whole, at once, and behind those that came before it") {
    Written written;
    JsonJobSink sink(written);
    sink.output(node_0, 0, StdStream::out, "one\nha");
    sink.tell({{"type", "forward"}, {"node", "node-0"}});
    auto told = lines(written.text[1]);
    REQUIRE(told.size() == 2);
    CHECK(told[0]["line"] == "one");
    CHECK(told[1]["type"] == "forward");
    sink.output(node_0, 0, StdStream::out, "lf\n");
    sink.flush();
    CHECK(lines(written.text[1]).back()["line"] == "half");
}

TEST_CASE("-o json tells in the end what had no newline, once") {
    Written written;
    JsonJobSink sink(written);
    sink.output(node_0, 0, StdStream::out, "out");
    sink.output(node_0, 0, StdStream::err, "err");
    sink.flush();
    CHECK(written.text[1].empty());
    sink.finish();
    sink.finish();
    const auto told = lines(written.text[1]);
    REQUIRE(told.size() == 2);
    CHECK(told[0]["line"] == "out");
    CHECK(told[1]["stream"] == "stderr");
}

TEST_CASE("-o json replaces what is not UTF-8, and keeps a line of any length") {
    Written written;
    JsonJobSink sink(written);
    sink.output(node_0, 0, StdStream::out, "a\xff\"\x1b\n");
    const std::string longest(200'000, 'x');
    for (std::size_t at = 0; at < longest.size(); at += 10'000) {
        sink.output(node_0, 0, StdStream::out, longest.substr(at, 10'000));
    }
    sink.output(node_0, 0, StdStream::out, "\n");
    sink.finish();
    const auto told = lines(written.text[1]);
    CHECK(told.at(0)["line"] == "a\xEF\xBF\xBD\"\x1b");
    std::string all;
    for (std::size_t i = 1; i < told.size(); ++i) {
        const auto part = told[i]["line"].get<std::string>();
        CHECK(part.size() <= (64U << 10U) + 10'000);
        all += part;
    }
    CHECK(all == longest);
}

TEST_CASE("a screen puts the node in front, and the rank where there is one, in columns") {
    Written written;
    JobScreen screen({}, written);
    screen.expect(node_0, 0);
    screen.expect(node_1, 12);
    screen.output(node_0, 0, StdStream::out, "one\n");
    screen.output(node_1, 12, StdStream::err, "two\n");
    screen.output(node_1, -1, StdStream::out, "three"); // the launcher
    screen.finish();
    CHECK(written.text[1] == "[node-0:0]  one\n[node-1]    three\n");
    CHECK(written.text[2] == "[node-1:12] two\n");
}

} // namespace sinks_test
