#include "node/job/questions.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

namespace questions_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

Asking asking(std::int64_t limit_ms = 30000) {
    return {.account = {.name = "me", .uid = ::geteuid(), .gid = ::getegid()},
            .environment = Environment::own(),
            .workdir = "/",
            .limit_ms = limit_ms};
}

std::vector<wire::Answer> ask(const std::vector<wire::Question>& questions, Asking how = asking()) {
    Loop loop;
    std::vector<wire::Answer> answers;
    const Questions asked(loop, questions, std::move(how), [&](std::vector<wire::Answer> all) {
        answers = std::move(all);
        loop.stop();
    });
    loop.run();
    return answers;
}

wire::Question shell(const std::string& script) {
    return {.name = "q", .argv = {"sh", "-c", script}};
}

} // namespace

TEST_CASE("answers come in the order of the questions, with their codes") {
    const auto answers = ask({shell("echo out; echo err >&2; exit 3"),
                              {.name = "missing", .argv = {"no-such-program"}},
                              {.name = "folder", .argv = {"/etc"}},
                              shell("kill -KILL $$")});
    REQUIRE(answers.size() == 4);
    CHECK(answers[0].output == "out\nerr\n");
    CHECK(answers[0].code == 3);
    CHECK(answers[1].name == "missing");
    CHECK(answers[1].code == 127);
    CHECK(answers[1].output.find("not found in PATH") != std::string::npos);
    CHECK(answers[2].code == 126);
    CHECK(answers[3].code == 137);
}

TEST_CASE("nothing to ask is answered at once") {
    CHECK(ask({}).empty());
}

TEST_CASE("a question that takes too long is ended, with what it has said") {
    const auto answers = ask({shell("echo begun; sleep 1000"), shell("echo quick")}, asking(1500));
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].code == -1);
    CHECK(answers[0].output == "begun\n");
    CHECK(answers[1].code == 0);
}

TEST_CASE("long output is cut and holds nobody up") {
    const auto answers = ask({shell("head -c 1000000 /dev/zero; exit 5")});
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].code == 5);
    CHECK(answers[0].output.size() == 4096);
}

TEST_CASE("stdin is empty") {
    CHECK(ask({{.name = "q", .argv = {"cat"}}}).front().code == 0);
}

TEST_CASE("a folder that cannot be entered is no reason not to answer") {
    auto how = asking();
    how.workdir = "/no/such/folder";
    CHECK(ask({{.name = "q", .argv = {"pwd"}}}, std::move(how)).front().output == "/\n");
}

TEST_CASE("what a question leaves behind does not hold up its answer") {
    CHECK(ask({shell("sleep 1000 & echo done")}).front().output == "done\n");
}

} // namespace questions_test
