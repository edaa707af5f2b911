// One ssh connection, many channels.
#include "behind_ssh.hpp"
#include "client/async/run_all.hpp"
#include "fakes/cancellable.hpp"

#include <algorithm>
#include <random>

namespace ssh_test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// libssh2 1.10 loses the 51 bytes of the host's key at each later exchange of keys.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libssh2.so\n";
}
#endif
#endif

using namespace dockdist;

namespace {

struct BehindRekeyingSsh : BehindSsh {
    BehindRekeyingSsh() : BehindSsh("RekeyLimit 1M") {}
};

} // namespace

TEST_CASE_FIXTURE(BehindSsh, "calls and streams travel over one ssh connection") {
    const auto client = engine();
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(run_task(io, converse(*client, "hello")).value() == "got hello");
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(front.connections() == 1);
    CHECK(server.connections() == 2);
}

TEST_CASE_FIXTURE(BehindSsh, "many streams side by side, each with its own bytes") {
    const auto client = engine();
    std::vector<Task<Result<std::string>>> tasks;
    const auto input = [](int i) { return std::string(300'000, static_cast<char>('a' + i % 26)); };
    for (int i = 0; i < 32; ++i) {
        tasks.push_back(converse(*client, input(i)));
    }
    const auto outputs = run_task(io, run_all(std::move(tasks)));
    for (int i = 0; i < 32; ++i) {
        REQUIRE(outputs[static_cast<std::size_t>(i)]);
        CHECK(*outputs[static_cast<std::size_t>(i)] == "got " + input(i));
    }
    CHECK(front.connections() == 1);
}

TEST_CASE_FIXTURE(BehindRekeyingSsh, "keys are exchanged anew in the middle of traffic both ways") {
    const auto client = engine();
    std::vector<Task<Result<std::string>>> tasks;
    const std::string input(6U << 20U, 'k');
    for (int i = 0; i < 4; ++i) {
        tasks.push_back(converse(*client, input));
    }
    for (const auto& output : run_task(io, run_all(std::move(tasks)))) {
        REQUIRE(output);
        CHECK(*output == "got " + input);
    }
    CHECK(front.connections() == 1);
}

TEST_CASE_FIXTURE(BehindSsh, "an upload of 100 MB arrives whole") {
    std::string tar(100'000'000, '\0');
    std::minstd_rand random(1);
    std::ranges::generate(tar, [&] { return static_cast<char>(random() >> 16U); });
    const auto client = engine();
    CHECK(run_task(io, client->put_archive(ContainerId(std::string(64, 'c')), "/", tar)));
    CHECK((server.requests().back().body == tar)); // not shown when it fails
}

TEST_CASE_FIXTURE(BehindSsh, "what is built from arrives whole over ssh") {
    const auto client = engine();
    const std::string tar(20'000'000, 't');
    CHECK(run_task(io, client->build_image({.reference = ImageRef("x")}, tar, {})).value() == "20000000");
}

TEST_CASE_FIXTURE(BehindSsh, "a stream that nobody reads holds up no other") {
    const auto client = engine();
    const auto endless = run_task(io, client->start_exec(ExecId("endless")));
    REQUIRE(endless);
    for (int i = 0; i < 20; ++i) {
        CHECK(run_task(io, converse(*client, std::string(200'000, 'z'))));
    }
    const auto chunk = run_task(io, (*endless)->read());
    CHECK(chunk.value().bytes.starts_with("xxxx"));
}

TEST_CASE_FIXTURE(BehindSsh, "a stream outlives its engine, and the connection ends with the last of them") {
    auto client = engine();
    auto stream = run_task(io, client->start_exec(ExecId("e")));
    client.reset();
    CHECK(run_task(io, (*stream)->write(std::string_view("late"))));
    CHECK(run_task(io, (*stream)->close_stdin()));
    CHECK(run_task(io, (*stream)->read()).value().bytes == "got late");
    stream->reset();
    CHECK(contains(front.log_of_the_end(), ":11: done"));
}

TEST_CASE_FIXTURE(BehindSsh, "a connection that was lost between two calls is made again") {
    const auto client = engine();
    CHECK(run_task(io, client->inspect_volume("v")));
    front.hang_up();
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(front.connections() == 2);
}

TEST_CASE_FIXTURE(BehindSsh, "a stream whose connection is lost ends with an error that names the host") {
    const auto client = engine();
    auto stream = run_task(io, client->start_exec(ExecId("e")));
    Cancellable reading(io, (*stream)->read());
    front.hang_up();
    reading.wait();
    const auto& error = reading.value().error();
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(contains(error.message, "the ssh connection to front:"));
    CHECK(contains(error.message, "was lost"));
}

TEST_CASE_FIXTURE(BehindSsh,
                  "calls that ask at the same time share one login, and one of them may be cancelled") {
    const auto client = engine();
    Cancellable first(io, converse(*client, "a"));
    Cancellable second(io, converse(*client, "b"));
    run_until(io, [&] { return front.connections() == 1; });
    first.cancel();
    second.wait();
    CHECK(second.value().value() == "got b");
    CHECK(first.ended_by_cancellation());
    CHECK(front.connections() <= 2);
}

TEST_CASE_FIXTURE(BehindSsh, "an opening that is cancelled leaves the next one its own channel") {
    const auto client = engine();
    REQUIRE(run_task(io, client->ping()));
    for (int turns = 0; turns < 12; ++turns) {
        Cancellable opening(io, converse(*client, "cancelled"));
        for (int i = 0; i < turns; ++i) {
            io.restart();
            io.poll_one();
        }
        opening.cancel();
        CHECK(run_task(io, converse(*client, "kept")).value() == "got kept");
    }
    CHECK(front.connections() == 1);
}

} // namespace ssh_test
