// The fake that the tests of the layers above stand on behaves as an engine does.
#include "fakes/cancellable.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/show.hpp"

#include <doctest/doctest.h>

namespace fake_engine_test {

using namespace dockdist;

namespace {

struct WithFake {
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "a"};

    ContainerId running(const std::string& name) { return engine.add_container(name).id; }
    template <class T>
    T run(Task<T> task) {
        return run_task(io, std::move(task));
    }
};

ContainerConfig with_image(const std::string& image) {
    ContainerConfig config;
    config.image = ImageRef(image);
    config.labels = {{"dockdist.cluster", "v"}};
    return config;
}

} // namespace

TEST_CASE_FIXTURE(WithFake, "a container's life, and the log of calls") {
    engine.add_image("bb");
    const auto id = run(engine.create_container("v-a", with_image("bb"))).value();
    CHECK(run(engine.inspect_container(id)).value().state == ContainerState::created);
    CHECK(run(engine.start_container(id)));
    CHECK(run(engine.list_containers({{"dockdist.cluster=v"}, true})).value().size() == 1);
    CHECK(run(engine.list_containers({{"dockdist.cluster=w"}, false})).value().empty());
    CHECK(run(engine.remove_container(id)));
    CHECK(run(engine.inspect_container(id)).error().kind == ErrorKind::not_found);
    CHECK(engine.writing_calls() ==
          std::vector<std::string>{"create_container v-a", "start_container v-a", "remove_container v-a"});
}

TEST_CASE_FIXTURE(WithFake, "names are unique, and images must be there") {
    engine.add_image("bb");
    running("v-a");
    CHECK(run(engine.create_container("v-a", with_image("bb"))).error().kind == ErrorKind::conflict);
    CHECK(run(engine.create_container("v-b", with_image("nope"))).error().kind == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(WithFake, "a scripted failure has no effect and happens as often as it is told") {
    const auto id = running("v-a");
    engine.fail("stop_container v-a", {ErrorKind::timeout, "", "stuck", ""});
    CHECK(run(engine.stop_container(id, std::chrono::seconds(1))).error() ==
          Error{ErrorKind::timeout, "a", "stuck", ""});
    CHECK(engine.container("v-a").state == ContainerState::running);
    CHECK(run(engine.stop_container(id, std::chrono::seconds(1))));
    CHECK(engine.container("v-a").state == ContainerState::exited);
}

TEST_CASE_FIXTURE(WithFake, "a call whose answer is lost has had its effect") {
    engine.add_image("bb");
    engine.lose_answer("create_container");
    CHECK(run(engine.create_container("v-a", with_image("bb"))).error().kind == ErrorKind::unreachable);
    CHECK(engine.containers.contains("v-a"));
}

TEST_CASE_FIXTURE(WithFake, "a call that is held goes on when it is released, and can be cancelled") {
    const auto id = running("v-a");
    engine.hold("start_container");
    Cancellable goes_on(io, engine.start_container(id));
    Cancellable gives_up(io, engine.start_container(id));
    io.poll();
    CHECK_FALSE(goes_on.ended());
    gives_up.cancel();
    gives_up.wait();
    CHECK(gives_up.ended_by_cancellation());
    engine.release("start_container");
    goes_on.wait();
    CHECK(goes_on.value());
}

TEST_CASE_FIXTURE(WithFake, "a scripted exec converses and ends with its code") {
    const auto id = running("v-a");
    engine.on_exec("greet", [](FakeExec exec) -> Task<int> {
        const auto name = co_await exec.read_line();
        exec.out("hello " + name.value_or("nobody"));
        exec.err("done");
        co_return 7;
    });
    const auto exec = run(engine.create_exec(id, ExecConfig{{"greet"}})).value();
    const auto stream = run(engine.start_exec(exec)).value();
    CHECK(run(stream->write(std::string_view("Ada\n"))));
    CHECK(run(stream->read()).value().bytes == "hello Ada");
    CHECK(run(stream->read()).value().stream == StdStream::err);
    CHECK(run(stream->read()).value().end);
    CHECK(run(engine.inspect_exec(exec)).value().exit_code == 7);
}

TEST_CASE_FIXTURE(WithFake, "an exec without a script fails loudly") {
    const auto exec = run(engine.create_exec(running("v-a"), ExecConfig{{"what", "is this"}})).value();
    const auto result = run(engine.start_exec(exec));
    REQUIRE_FALSE(result);
    CHECK(result.error().message == "the test has no script for the exec: what 'is this'");
}

TEST_CASE_FIXTURE(WithFake, "the end of a container ends its followed log and is an event") {
    const auto id = running("v-a");
    const auto events = run(engine.events({{"container"}, {"die"}, {}})).value();
    const auto log = run(engine.container_logs(id, {true, -1, false})).value();
    engine.append_log("v-a", "one\ntwo\n");
    engine.end_container("v-a", 3);
    CHECK(run(log->read()).value().bytes == "one\ntwo\n");
    CHECK(run(log->read()).value().end);
    CHECK(run(events->next()).value().attributes.at("exitCode") == "3");
    CHECK(run(engine.container_log_tail(id, 1)).value() == "two\n");
}

TEST_CASE_FIXTURE(WithFake, "a volume is made by the container that mounts it, and kept while one does") {
    engine.add_image("bb");
    auto config = with_image("bb");
    config.mounts = {{Mount::Type::volume, "toolkit", "/opt", true, {{"a", "b"}}, ""}};
    const auto id = run(engine.create_container("v-a", config)).value();
    CHECK(run(engine.inspect_volume("toolkit")).value().labels == Labels{{"a", "b"}});
    CHECK(run(engine.remove_volume("toolkit")).error().kind == ErrorKind::conflict);
    CHECK(run(engine.remove_container(id)));
    CHECK(run(engine.remove_volume("toolkit")));
    CHECK(run(engine.inspect_volume("toolkit")).error().kind == ErrorKind::not_found);
}

TEST_CASE("a build gives what a test says") {
    boost::asio::io_context io;
    FakeEngine engine(io.get_executor(), "a");
    engine.on_build("good", {{.text = "Step 1/1 : FROM x\n"}});
    engine.on_build("bad", {{.text = "Step 1/1 : RUN false\n"}}, Error{ErrorKind::config, "", "ended", ""});
    std::string said;
    const auto build = [&](const char* name) {
        BuildConfig config;
        config.reference = ImageRef(name);
        config.labels = {{"of", name}};
        return run_task(io, engine.build_image(config, std::string_view("tar"),
                                               [&](const BuildOutput& output) { said += output.text; }));
    };
    CHECK(build("good").value() == "sha256:good");
    CHECK(engine.images.contains("good"));
    CHECK(engine.build_tar == "tar");
    CHECK(build("bad").error() == Error{ErrorKind::config, "a", "ended", ""});
    CHECK(engine.build_config.labels.at("of") == "bad");
    CHECK(!engine.images.contains("bad"));
    CHECK(build("unscripted").has_value());
    CHECK(said == "Step 1/1 : FROM x\nStep 1/1 : RUN false\n");
    CHECK(engine.writing_calls() ==
          std::vector<std::string>{"build_image good", "build_image bad", "build_image unscripted"});
}

} // namespace fake_engine_test
