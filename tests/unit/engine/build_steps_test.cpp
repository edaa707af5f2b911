// What BuildKit says of a build, as Engine 20.10 and 26.1 have said it, and what is made of that.
#include "client/engine/buildkit/build_steps.hpp"
#include "client/engine/json_decode.hpp"
#include "shared/core/encode.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <protozero/pbf_writer.hpp>

namespace build_steps_test {

using namespace dockdist;

namespace {

struct Told {
    BuildSteps steps{};
    std::vector<std::string> lines{};
    std::string error{}, id{};
};

Told replay(const std::string& name) {
    std::ifstream file(std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/engine/recorded/" + name);
    Told told;
    for (std::string line; std::getline(file, line);) {
        const auto message = decode_build_message(line);
        REQUIRE(message.has_value());
        told.error += message->error;
        told.id += message->image_id;
        if (!message->trace.empty()) {
            const auto trace = decode_build_trace(message->trace);
            REQUIRE(trace.has_value());
            for (const auto& output : told.steps.take(*trace)) {
                told.lines.push_back(output.step);
            }
        }
    }
    REQUIRE(!told.lines.empty());
    return told;
}

const std::string run = "RUN for i in $(seq 30); do echo line $i; done; printf 'no end\\033[1m'; exit ";

std::string vertex(const std::string& digest, const std::string& name, const std::string& error = "") {
    std::string bytes;
    protozero::pbf_writer message(bytes);
    message.add_string(1, digest);
    message.add_string(3, name);
    message.add_message(5, std::string());
    if (!error.empty()) {
        message.add_string(7, error);
    }
    return bytes;
}

BuildTrace trace_of(std::initializer_list<std::pair<int, std::string>> parts) {
    std::string bytes;
    protozero::pbf_writer message(bytes);
    for (const auto& [tag, part] : parts) {
        message.add_message(static_cast<protozero::pbf_tag_type>(tag), part);
    }
    const auto trace = decode_build_trace(to_base64(bytes));
    REQUIRE(trace.has_value());
    return *trace;
}

std::string log(const std::string& digest, const std::string& text) {
    std::string bytes;
    protozero::pbf_writer message(bytes);
    message.add_string(1, digest);
    message.add_string(4, text);
    return bytes;
}

} // namespace

TEST_CASE("a build's steps are told as they begin, those of the cache as such, and each once") {
    const auto told = replay("26.1/build_cached.jsonl");
    CHECK(told.error.empty());
    CHECK(told.id == "sha256:04b4473be790bddde616a8694325c3b88a12a97d9db2c5ffc404e424d626fdf3");
    CHECK(told.lines == std::vector<std::string>{"load remote build context", "unpack the folder",
                                                 "load metadata for docker.io/dockdist-lab/busybox:latest",
                                                 "[stage-1 1/3] FROM docker.io/dockdist-lab/busybox:latest",
                                                 "[tools 2/2] RUN echo tools >/tools (cached)",
                                                 "[stage-1 2/3] COPY --from=tools /tools /tools (cached)",
                                                 "[stage-1 3/3] " + run + "0 (cached)",
                                                 "exporting to image"});
    CHECK(told.steps.failed_step().empty());
    CHECK(told.steps.failed_output().empty());
}

TEST_CASE("of a build that fails the step is known, and its last lines") {
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        const auto told = replay(engine + "/build_failed.jsonl");
        CHECK(told.error.ends_with(": exit code: 3"));
        CHECK(told.id.empty());
        CHECK(told.steps.failed_step() == "step stage-1 3/3 (" + run + "3)");
        std::string expected = "[stage-1 3/3] " + run + "3\n";
        for (int i = 11; i <= 30; ++i) {
            expected += "line " + std::to_string(i) + "\n";
        }
        CHECK(told.steps.failed_output() == expected + "no end\x1b[1m\n");
    }
}

TEST_CASE("of steps that fail the first is the cause; others have their lines to themselves") {
    BuildSteps steps;
    (void)steps.take(
        trace_of({{1, vertex("a", "[a 1/2] RUN a")}, {1, vertex("b", "[b 1/2] RUN <<END\nb\nEND")}}));
    (void)steps.take(trace_of({{3, log("a", "of a\n")}, {3, log("b", "of ")}, {3, log("b", "b\n")}}));
    (void)steps.take(trace_of({{1, vertex("b", "[b 1/2] RUN <<END\nb\nEND", "exit code: 1")},
                               {1, vertex("a", "[a 1/2] RUN a", "context canceled")}}));
    CHECK(steps.failed_step() == "step b 1/2 (RUN <<END b END)");
    CHECK(steps.failed_output() == "[b 1/2] RUN <<END b END\nof b\n");
}

TEST_CASE("what fails beside the steps is told by what it does") {
    BuildSteps steps;
    (void)steps.take(
        trace_of({{1, vertex("s", "resolve image config for docker.io/docker/dockerfile:1", "no route")}}));
    CHECK(steps.failed_step() == "resolve image config for docker.io/docker/dockerfile:1");
    CHECK(steps.failed_output().empty());
}

TEST_CASE("a base image's layers are told as a pull's") {
    std::string part;
    protozero::pbf_writer message(part);
    message.add_string(1, "sha256:0123");
    message.add_string(3, "downloading");
    message.add_int64(4, 10);
    message.add_int64(5, 100);
    BuildSteps steps;
    const auto told = steps.take(trace_of({{2, part}}));
    REQUIRE(told.size() == 1);
    CHECK(told[0].pull == PullProgress{"sha256:0123", "Downloading", 10, 100});
}

TEST_CASE("messages that are none are errors, and fields of another kind are skipped") {
    CHECK(decode_build_trace("!").error().message == "a message of BuildKit is not base64");
    CHECK(decode_build_trace(to_base64("\x0a\x7f")).error().message ==
          "a message of BuildKit cannot be read");
    CHECK(decode_build_trace(to_base64("\x0a\x01\x20")).error().kind ==
          ErrorKind::protocol); // a bool cut off
    CHECK(decode_build_trace("").value().vertexes.empty());
    std::string odd;
    protozero::pbf_writer message(odd);
    message.add_uint64(1, 5); // a vertex that is a number
    message.add_fixed32(3, 5);
    CHECK(decode_build_trace(to_base64(odd)).value().vertexes.empty());
}

TEST_CASE("what an engine makes up is bounded") {
    BuildSteps steps;
    for (int i = 0; i < 3000; ++i) {
        const auto digest = "d" + std::to_string(i);
        (void)steps.take(trace_of({{1, vertex(digest, "[1/1] RUN " + std::string(5000, 'x'))}}));
    }
    (void)steps.take(trace_of({{3, log("d0", std::string(5000, 'y'))}}));
    (void)steps.take(trace_of({{1, vertex("d2999", "[1/1] RUN late", "an error")}}));
    CHECK(steps.failed_step().empty()); // more than a build has
    (void)steps.take(trace_of({{1, vertex("d0", "[1/1] RUN " + std::string(5000, 'x'), "an error")}}));
    CHECK(steps.failed_step().size() < 300);
    CHECK(steps.failed_output().size() < 1000);
}

} // namespace build_steps_test
