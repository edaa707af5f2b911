// Real answers of Engine 20.10 and 26.1, in recorded/, and answers that no engine should give.
#include "client/engine/engine_error.hpp"
#include "client/engine/json_decode.hpp"
#include "fakes/show.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace json_decode_test {

using namespace dockdist;

namespace {

std::string recorded(const std::string& name) {
    const std::ifstream file(std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/engine/recorded/" + name);
    REQUIRE_MESSAGE(file, name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> result;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        result.push_back(line);
    }
    return result;
}

template <class T>
std::string message(const Result<T>& result) {
    return result ? std::string("none") : result.error().message;
}

} // namespace

TEST_CASE("info of Engine 20.10") {
    const auto info = decode_info(recorded("20.10/info.json"), {1, 41});
    REQUIRE(info);
    CHECK(info->version == "20.10.24+dfsg1");
    CHECK(info->name == "host-a");
    CHECK(info->operating_system == "Debian GNU/Linux 12 (bookworm)");
    CHECK(info->architecture == "x86_64");
    CHECK(info->os_type == "linux");
    CHECK(info->runtimes ==
          std::vector<std::string>{"io.containerd.runc.v2", "io.containerd.runtime.v1.linux", "runc"});
    CHECK(info->system_time == "2026-11-20T12:06:35.3681434Z");
    CHECK(info->cpus == 2);
    CHECK(info->memory.count == 25276510208);
    CHECK_FALSE(info->rootless);
    CHECK(info->api == ApiVersion{1, 41});
}

TEST_CASE("info of Engine 26.1") {
    const auto info = decode_info(recorded("26.1/info.json"), {1, 45});
    REQUIRE(info);
    CHECK(info->version == "26.1.5+dfsg1");
    CHECK(info->runtimes == std::vector<std::string>{"io.containerd.runc.v2", "runc"});
}

TEST_CASE("CDI devices and rootless are found in info") {
    const auto info = decode_info(R"({"SecurityOptions":["name=seccomp","name=rootless"],
        "DiscoveredDevices":[{"Source":"cdi","ID":"nvidia.com/gpu=0"},{"Source":"other","ID":"x"}]})",
                                  {1, 50});
    REQUIRE(info);
    CHECK(info->rootless);
    CHECK(info->cdi_devices == std::vector<std::string>{"nvidia.com/gpu=0"});
}

TEST_CASE("how an engine is set is found in info") {
    const auto info = decode_info(R"({"SecurityOptions":["name=userns","name=selinux"],
        "Plugins":{"Authorization":["opa","b"]}})",
                                  {1, 45});
    REQUIRE(info);
    CHECK(info->remaps_users);
    CHECK(info->selinux);
    CHECK(info->authorization_plugins == std::vector<std::string>{"opa", "b"});
    for (const std::string engine : {"20.10", "26.1", "podman-4.3", "podman-5.4", "26.1-rootless"}) {
        CAPTURE(engine);
        const auto usual = decode_info(recorded(engine + "/info.json"), {1, 41});
        REQUIRE(usual);
        CHECK_FALSE(usual->remaps_users);
        CHECK_FALSE(usual->selinux);
        CHECK(usual->authorization_plugins.empty());
    }
    CHECK_FALSE(decode_info(R"({"Plugins":{"Authorization":"opa"}})", {1, 45}));
}

TEST_CASE("rootless engines say so, each in its own way") {
    for (const std::string engine : {"20.10", "26.1", "podman-4.3"}) {
        CAPTURE(engine);
        CHECK_FALSE(decode_info(recorded(engine + "/info.json"), {1, 41})->rootless);
        CHECK(decode_info(recorded(engine + "-rootless/info.json"), {1, 41})->rootless);
    }
}

TEST_CASE("containers of both engines") {
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        const auto list = decode_container_list(recorded(engine + "/containers.json"));
        REQUIRE(list);
        REQUIRE(list->size() == 1);
        CHECK(list->front().name == "recorded");
        CHECK(list->front().id.str().size() == 64);
        CHECK(list->front().image.str() == "bb");
        CHECK(list->front().state == ContainerState::running);
        CHECK(list->front().labels == Labels{{"dockdist.cluster", "vision"}});
        CHECK(list->front().created_s > 1'700'000'000);

        const auto created = decode_container(recorded(engine + "/container_created.json"));
        REQUIRE(created);
        CHECK(created->state == ContainerState::created);

        const auto running = decode_container(recorded(engine + "/container_running.json"));
        REQUIRE(running);
        CHECK(running->state == ContainerState::running);
        CHECK(running->id == created->id);
        CHECK(running->name == "recorded");
        CHECK(running->image_id == "sha256:1615480ab0b8a34805188c32fa52d19b230347b82bed5c532b0a80317ca3bb15");
        CHECK(running->started_at.starts_with("2026-11-20T12:"));
        CHECK(running->labels == Labels{{"dockdist.cluster", "vision"}});
        CHECK(decode_id(recorded(engine + "/create.json"), "x").value() == running->id.str());
    }
}

TEST_CASE("execs of both engines") {
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        const auto before = decode_exec(recorded(engine + "/exec_before.json"));
        REQUIRE(before);
        CHECK_FALSE(before->exit_code.has_value());
        const auto ended = decode_exec(recorded(engine + "/exec_ended.json"));
        REQUIRE(ended);
        CHECK_FALSE(ended->running);
        CHECK(ended->exit_code == 7);
        CHECK(ended->pid > 0);
    }
}

TEST_CASE("images and volumes of both engines") {
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        const auto image = decode_image(recorded(engine + "/image.json"));
        REQUIRE(image);
        CHECK(image->id.starts_with("sha256:"));
        CHECK(image->repo_tags == std::vector<std::string>{"bb:latest"});
        CHECK(image->layers.size() == 1);
        CHECK(image->architecture == "amd64");
        CHECK(image->size.count > 1'000'000);
        CHECK(image->entrypoint.empty());
        const auto volume = decode_volume(recorded(engine + "/volume.json"));
        REQUIRE(volume);
        CHECK(volume->name == "rec");
        CHECK(volume->labels == Labels{{"a", "b"}});
    }
}

TEST_CASE("containers, execs, images and volumes of Podman") {
    for (const std::string engine : {"podman-4.3", "podman-5.4"}) {
        CAPTURE(engine);
        const auto list = decode_container_list(recorded(engine + "/containers.json"));
        REQUIRE(list);
        REQUIRE(list->size() == 1);
        CHECK(list->front().name == "recorded");
        CHECK(list->front().image.str() == "localhost/dockdist-lab/busybox:latest");
        CHECK(list->front().state == ContainerState::running);
        CHECK(list->front().labels == Labels{{"dockdist.cluster", "vision"}});
        CHECK(list->front().created_s > 1'700'000'000);

        const auto image = decode_image(recorded(engine + "/image.json"));
        REQUIRE(image);
        CHECK(image->id == list->front().image_id); // or every `up` would make every node anew
        CHECK(image->architecture == "amd64");

        CHECK(decode_container(recorded(engine + "/container_created.json"))->state ==
              ContainerState::created);
        const auto running = decode_container(recorded(engine + "/container_running.json"));
        REQUIRE(running);
        CHECK(running->state == ContainerState::running);
        CHECK(decode_id(recorded(engine + "/create.json"), "x").value() == running->id.str());

        const auto ended = decode_exec(recorded(engine + "/exec_ended.json"));
        REQUIRE(ended);
        CHECK(ended->exit_code == 3);
        CHECK(decode_volume(recorded(engine + "/volume.json"))->name == "rec");
    }
}

TEST_CASE("a container that Podman is stopping neither runs nor can be started") {
    const auto list = decode_container_list(R"([{"Id":"x","State":"stopping"}])");
    REQUIRE(list);
    CHECK(list->front().state == ContainerState::removing);
}

TEST_CASE("an exec that runs has no exit code, also where Podman says 0") {
    const auto exec = decode_exec(R"({"Running":true,"Pid":15866,"ExitCode":0})");
    REQUIRE(exec);
    CHECK_FALSE(exec->exit_code.has_value());
}

TEST_CASE("events of both engines") {
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        std::vector<std::string> actions;
        for (const auto& line : lines(recorded(engine + "/events.jsonl"))) {
            const auto event = decode_event(line);
            REQUIRE(event);
            CHECK(event->type == "container");
            CHECK(event->id.size() == 64);
            CHECK(event->attributes.at("name") == "recorded");
            CHECK(event->time_ns > 1'700'000'000'000'000'000);
            actions.push_back(event->action);
        }
        CHECK(std::ranges::find(actions, "die") != actions.end());
        CHECK(actions.back() == "destroy");
    }
}

TEST_CASE("a field of a wrong type is named") {
    CHECK(message(decode_info(R"({"NCPU":"two"})", {})) ==
          "the answer to GET /info: the field NCPU is not an integer");
    CHECK(message(decode_container(R"({"Id":"x","State":{"Status":"running","ExitCode":[]}})")) ==
          "the details of a container: State: the field ExitCode is not an integer");
    CHECK(message(decode_container(R"({"Id":"x","State":"running"})")) ==
          "the details of a container: State is not an object");
    CHECK(message(decode_container_list(R"([{"Id":"x","State":"running","Labels":{"a":1}}])")) ==
          "the list of containers: the field Labels is not an object of texts");
    CHECK(message(decode_container_list(R"({"message":"x"})")) == "the list of containers is not a list");
    CHECK(message(decode_id(R"({"Warnings":[]})", "the answer")) == "the answer: the field Id is not there");
    CHECK(message(decode_container_list(R"([{"Id":"x","State":"sleeping"}])")) ==
          "the list of containers: the field State is not a state of a container that is known");
}

TEST_CASE("missing fields and null are defaults, unknown fields are ignored") {
    const auto image = decode_image(R"({"Id":"sha256:1","RepoTags":null,"Config":null,"News":{"x":[1]}})");
    REQUIRE(image);
    CHECK(image->repo_tags.empty());
    CHECK(image->env.empty());
}

TEST_CASE("JSON that is cut short or nested without end is an error") {
    const auto whole = recorded("26.1/container_running.json");
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
        CHECK_FALSE(decode_container(whole.substr(0, size)));
    }
    CHECK_FALSE(decode_container(std::string(1'000'000, '[')));
    CHECK_FALSE(decode_container(R"({"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}"));
}

TEST_CASE("a pull's message is progress or an error") {
    const auto progress = decode_pull_message(
        R"({"status":"Downloading","progressDetail":{"current":10,"total":20},"id":"abc"})");
    REQUIRE(progress);
    CHECK(progress->layer == "abc");
    CHECK(progress->status == "Downloading");
    CHECK(progress->current == 10U);
    CHECK(progress->total == 20U);
    CHECK_FALSE(decode_pull_message(R"({"status":"Pulling fs layer","progressDetail":{},"id":"abc"})")
                    ->current.has_value());
    const auto failed =
        decode_pull_message(R"({"errorDetail":{"message":"unauthorized"},"error":"unauthorized"})");
    CHECK(failed.error() == Error{ErrorKind::engine, "", "unauthorized", ""});
}

TEST_CASE("the engines' refusals, and what to do about them") {
    const auto refusal = [](int status, const std::string& file) {
        return engine_error({status, {}, recorded(file)}, {.what = "start x"});
    };
    CHECK(refusal(500, "20.10/no_gpu_driver.json") ==
          Error{ErrorKind::engine, "",
                "start x: could not select device driver \"\" with capabilities: [[gpu]]",
                "install the NVIDIA Container Toolkit on that host (nvidia-ctk runtime configure "
                "--runtime=docker, then restart "
                "Docker), set `cdi: true` where it has a CDI file, or write `gpus: none` for it, or `gpus: "
                "amd` where they are AMD's"});
    for (const std::string engine : {"20.10", "26.1"}) {
        CAPTURE(engine);
        CHECK(refusal(409, engine + "/name_taken.json").kind == ErrorKind::conflict);
        CHECK(refusal(409, engine + "/name_taken.json").hint.find("another cluster of the same name?") !=
              std::string::npos);
        CHECK(refusal(404, engine + "/no_such_image.json").kind == ErrorKind::not_found);
        CHECK(refusal(404, engine + "/no_such_image.json").hint.find("image.pull: missing") !=
              std::string::npos);
        CHECK(refusal(500, engine + "/rlimit.json").hint.find("container.ulimits.memlock") !=
              std::string::npos);
        CHECK(
            refusal(400, engine + "/no_bind_source.json").hint ==
            "make that folder on the host (`dockdist data push` makes and fills those of `data`), or correct "
            "`container.mounts`");
        CHECK(refusal(400, engine + "/too_new.txt").hint.find("API 1.40 to 1.51") != std::string::npos);
        CHECK(refusal(400, engine + "/too_old.txt").message.find("Minimum supported API version") !=
              std::string::npos);
    }
}

TEST_CASE("Podman's refusals mean what Docker's do, by other statuses") {
    for (const std::string engine : {"podman-4.3", "podman-5.4"}) {
        CAPTURE(engine);
        const auto refusal = [&](int status, const std::string& file) {
            return engine_error({status, {}, recorded(engine + file)}, {.what = "create x", .podman = true});
        };
        const auto taken = refusal(500, "/name_taken.json");
        CHECK(taken.kind == ErrorKind::conflict);
        CHECK(taken.hint.find("another cluster of the same name?") != std::string::npos);
        CHECK(refusal(404, "/no_such_image.json").kind == ErrorKind::not_found);
        CHECK(refusal(500, "/rlimit.json").hint.find("`nofile` and `nproc`") != std::string::npos);
        // What `up` looks for before it goes on without RDMA.
        CHECK(refusal(500, "/no_device.json").message ==
              "create x: container create: stat /dev/infiniband: no such file or directory");
        CHECK(refusal(500, "/no_device.json").kind == ErrorKind::engine);
    }
}

TEST_CASE("a refusal that is no JSON is told by its first line, made printable and bounded") {
    CHECK(decode_error_message("bad\x1b[31m news.\r\nmore") == "bad\\x1b[31m news");
    CHECK(decode_error_message(std::string(5000, 'x')).size() == 1000);
    CHECK(engine_error({502, {}, ""}, {.what = "start x"}).message ==
          "start x: the engine answered with status 502");
}

TEST_CASE("a redirect is refused as one") {
    const auto error = engine_error({301, {{"Location", "/login\n"}}, "moved"}, {.what = "list containers"});
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.message == "list containers: answered by a redirect (301 to '/login\\x0a'), which no "
                           "Docker engine does for a valid request");
}

TEST_CASE("what GPUs a container was asked for") {
    const auto requests = [](const std::string& json) {
        return decode_container(R"({"Id":"1","State":{"Status":"running"},"HostConfig":)" + json + "}");
    };
    const auto found = requests(R"({"DeviceRequests":[{"Driver":"","Count":2,"DeviceIDs":null},)"
                                R"({"Driver":"cdi","Count":0,"DeviceIDs":["nvidia.com/gpu=0"]}]})");
    REQUIRE(found.has_value());
    CHECK(found->device_requests ==
          std::vector<DeviceRequest>{{.count = 2}, {.driver = "cdi", .device_ids = {"nvidia.com/gpu=0"}}});
    CHECK(requests(R"({"DeviceRequests":null})")->device_requests.empty());
    CHECK(requests("{}")->device_requests.empty());
    CHECK(requests(R"({"DeviceRequests":[7]})").has_error());
}

} // namespace json_decode_test
