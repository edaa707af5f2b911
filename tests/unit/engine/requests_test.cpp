// What each call asks of an engine: method, path, query, headers, body; and what it makes of the statuses.
#include "over_stub.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace requests_test {

using namespace dockdist;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const std::string id = container_id.str();

} // namespace

TEST_CASE("the first call agrees on a version, and the next ones do not ask again") {
    OverStub stub(always(http_answer(200, "[]")));
    CHECK(stub.run(stub.engine->list_containers({})));
    CHECK(stub.run(stub.engine->list_containers({})));
    CHECK(stub.server.requests().at(1).line() == "GET /v1.45/containers/json?all=1");
    CHECK(stub.engine->round_trips() == 3);
    CHECK(stub.server.connections() == 1);
}

TEST_CASE("an engine that is newer than dockdist is spoken to in dockdist's version") {
    OverStub stub(StubServer::engine([](const StubRequest&) { return http_answer(200, "[]"); }, "1.99"));
    CHECK(stub.run(stub.engine->ping()).value() == ApiVersion{1, 51});
    CHECK(stub.run(stub.engine->list_containers({})));
    CHECK(only(stub).target.starts_with("/v1.51/"));
}

TEST_CASE("containers are listed by labels") {
    OverStub stub(always(http_answer(200, "[]")));
    CHECK(stub.run(stub.engine->list_containers({{"dockdist.cluster=vision"}, true})));
    CHECK(only(stub).line() ==
          "GET /v1.45/containers/json?filters=%7B%22label%22%3A%5B%22dockdist.cluster%3Dvision%22%5D%7D");
    CHECK(only(stub).headers.at("host") == stub.server.address().url.substr(6));
}

TEST_CASE("a container is created under its name") {
    OverStub stub(always(http_answer(201, R"({"Id":"123","Warnings":[]})")));
    ContainerConfig config;
    config.image = ImageRef("bb");
    CHECK(stub.run(stub.engine->create_container("vision-a", config)).value() == ContainerId("123"));
    CHECK(only(stub).line() == "POST /v1.45/containers/create?name=vision-a");
    CHECK(only(stub).headers.at("content-type") == "application/json");
    CHECK(json::parse(only(stub).body)["Image"] == "bb");
}

TEST_CASE("names that would make another path or query are encoded") {
    OverStub stub(always(http_answer(404, R"({"message":"no such volume"})")));
    CHECK_FALSE(stub.run(stub.engine->inspect_volume("../x?y#z\r\nHost: evil")));
    CHECK(only(stub).line() == "GET /v1.45/volumes/..%2Fx%3Fy%23z%0D%0AHost%3A%20evil");
}

TEST_CASE("an empty id never becomes another path") {
    OverStub stub(always(http_answer(404, R"({"message":"No such container: -"})")));
    CHECK(stub.run(stub.engine->inspect_container(ContainerId(""))).error().kind == ErrorKind::not_found);
    CHECK(only(stub).target == "/v1.45/containers/-/json");
}

TEST_CASE("what a container has written is asked for with its size and the places of its mounts") {
    OverStub stub(StubServer::engine([](const StubRequest& request) {
        return request.target.ends_with("/changes")
                   ? http_answer(
                         200, R"([{"Path":"/a","Kind":0},{"Path":"/a/b","Kind":1},{"Path":"/c","Kind":2}])")
                   : http_answer(
                         200,
                         R"({"SizeRw":98,"Config":{"WorkingDir":"/w"},"Mounts":[{"Destination":"/m"}]})");
    }));
    const auto diff = stub.run(stub.engine->container_diff(container_id));
    REQUIRE(diff);
    CHECK(diff->paths == std::vector<std::string>{"/a", "/a/b"});
    CHECK(diff->places == std::vector<std::string>{"/m", "/w"});
    CHECK(diff->written == Bytes{98});
    CHECK(stub.server.requests().at(0).line() == "GET /v1.45/containers/" + id + "/changes");
    CHECK(stub.server.requests().at(1).line() == "GET /v1.45/containers/" + id + "/json?size=1");
}

TEST_CASE("of a container that has written nothing an engine says null") {
    OverStub stub(always(http_answer(200, "null")));
    const auto diff = stub.run(stub.engine->container_diff(container_id));
    CHECK((!diff || diff->paths.empty()));
    OverStub odd(always(http_answer(200, R"([{"Path":1}])")));
    CHECK(odd.run(odd.engine->container_diff(container_id)).error().kind == ErrorKind::protocol);
}

TEST_CASE("starting a container that runs already is a success") {
    OverStub stub(always("HTTP/1.1 304 Not Modified\r\n\r\n"));
    CHECK(stub.run(stub.engine->start_container(container_id)));
    CHECK(only(stub).line() == "POST /v1.45/containers/" + id + "/start");
    CHECK(only(stub).headers.at("content-length") == "0");
}

TEST_CASE("a container is stopped with its grace, beside the kept connection") {
    OverStub stub(always("HTTP/1.1 204 No Content\r\n\r\n"));
    CHECK(stub.run(stub.engine->stop_container(container_id, 10s)));
    CHECK(only(stub).line() == "POST /v1.45/containers/" + id + "/stop?t=10");
    CHECK(stub.server.connections() == 2);
}

TEST_CASE("a container is renamed by its id") {
    OverStub stub(always(http_answer(204, "")));
    CHECK(stub.run(stub.engine->rename_container(container_id, "dockdist-v-node-0.replaced")));
    CHECK(only(stub).line() == "POST /v1.45/containers/" + id + "/rename?name=dockdist-v-node-0.replaced");
}

TEST_CASE("a name that another container has is a conflict") {
    OverStub stub(always(http_answer(409, R"({"message":"name is already in use"})")));
    CHECK(stub.run(stub.engine->rename_container(container_id, "x")).error().kind == ErrorKind::conflict);
}

TEST_CASE("removing a container that is gone is a success") {
    OverStub stub(always(http_answer(404, R"({"message":"No such container"})")));
    CHECK(stub.run(stub.engine->remove_container(container_id)));
    CHECK(only(stub).line() == "DELETE /v1.45/containers/" + id + "?force=1&v=1");
}

TEST_CASE("a removal that somebody else began is waited for") {
    int looks = 0;
    OverStub stub(StubServer::engine([&](const StubRequest& request) {
        if (request.method == "DELETE") {
            return http_answer(409, R"({"message":"removal of container x is already in progress"})");
        }
        return ++looks < 3 ? http_answer(200, R"({"Id":"x","State":{"Status":"removing"}})")
                           : http_answer(404, R"({"message":"gone"})");
    }));
    CHECK(stub.run(stub.engine->remove_container(container_id)));
    CHECK(looks == 3);
}

TEST_CASE("another conflict of a removal is an error") {
    OverStub stub(always(http_answer(409, R"({"message":"container is paused"})")));
    CHECK(stub.run(stub.engine->remove_container(container_id)).error().kind == ErrorKind::conflict);
}

TEST_CASE("a volume is created with its labels, and whose it is already is what is answered") {
    OverStub stub(always(
        http_answer(201, R"({"Name":"v","Labels":{"a":"theirs"},"CreatedAt":"2023-11-14T22:13:20Z"})")));
    const auto volume = stub.run(stub.engine->create_volume("v", {{"a", "ours"}}));
    REQUIRE(volume);
    CHECK(volume->labels == Labels{{"a", "theirs"}});
    CHECK(volume->created_s == 1700000000);
    CHECK(only(stub).line() == "POST /v1.45/volumes/create");
    CHECK(json::parse(only(stub).body) == json{{"Name", "v"}, {"Labels", {{"a", "ours"}}}});
}

TEST_CASE("volumes are listed by their labels") {
    OverStub stub(always(http_answer(
        200, R"({"Volumes":[{"Name":"v","Labels":{"a":"b","c":"d"}},{"Name":"w","Labels":{"a":"b"}}]})")));
    const auto volumes = stub.run(stub.engine->list_volumes({"a=b", "c"}));
    REQUIRE(volumes.has_value());
    REQUIRE(volumes->size() == 2);
    CHECK(volumes->front().name == "v");
    CHECK(volumes->front().labels == Labels{{"a", "b"}, {"c", "d"}});
    CHECK(only(stub).line() == "GET /v1.45/volumes?filters=%7B%22label%22%3A%5B%22a%3Db%22%2C%22c%22%5D%7D");
}

TEST_CASE("no volumes are a null, and what is no list of them is told") {
    std::string body = R"({"Volumes":null,"Warnings":null})";
    OverStub stub(StubServer::engine([&](const StubRequest&) { return http_answer(200, body); }));
    CHECK(stub.run(stub.engine->list_volumes({})).value().empty());
    for (const auto* wrong :
         {R"({"Volumes":{}})", R"({"Volumes":[1]})", R"({"Volumes":[{"Name":1}]})", "[]"}) {
        body = wrong;
        CHECK(stub.run(stub.engine->list_volumes({})).error().kind == ErrorKind::protocol);
    }
}

TEST_CASE("an archive is uploaded as it is") {
    OverStub stub(always(http_answer(200, "")));
    const std::string tar(300'000, 't');
    CHECK(stub.run(stub.engine->put_archive(container_id, "/opt/dock dist", tar)));
    CHECK(only(stub).line() == "PUT /v1.45/containers/" + id + "/archive?path=%2Fopt%2Fdock%20dist");
    CHECK(only(stub).headers.at("content-type") == "application/x-tar");
    CHECK(only(stub).body == tar);
}

TEST_CASE("the tail of a log comes without its frames") {
    const std::string log = std::string("\1\0\0\0\0\0\0\6", 8) + "hello\n";
    OverStub stub(always(http_chunked(200, {log.substr(0, 5), log.substr(5)})));
    CHECK(stub.run(stub.engine->container_log_tail(container_id, 5)).value() == "hello\n");
    CHECK(only(stub).line() == "GET /v1.45/containers/" + id + "/logs?stdout=1&tail=5");
}

TEST_CASE("an exec is created and looked at") {
    OverStub stub(StubServer::engine([](const StubRequest& request) {
        if (request.method == "GET") {
            return http_answer(200, R"({"Running":false,"ExitCode":126,"Pid":0})");
        }
        return http_answer(201, R"({"Id":"e1"})");
    }));
    CHECK(stub.run(stub.engine->create_exec(container_id, ExecConfig{{"true"}})).value() == ExecId("e1"));
    const auto state = stub.run(stub.engine->inspect_exec(ExecId("e1")));
    CHECK(state.value().exit_code == 126);
    CHECK(stub.server.requests().at(0).line() == "POST /v1.45/containers/" + id + "/exec");
    CHECK(stub.server.requests().at(1).line() == "GET /v1.45/exec/e1/json");
}

TEST_CASE("an image's reference keeps its slashes and its tag") {
    OverStub stub(always(http_answer(404, R"({"message":"No such image: x"})")));
    const auto result = stub.run(stub.engine->inspect_image(ImageRef("ghcr.io/a/b:1@sha256:00")));
    CHECK(result.error().kind == ErrorKind::not_found);
    CHECK(only(stub).line() == "GET /v1.45/images/ghcr.io/a/b:1@sha256:00/json");
}

TEST_CASE("removing a volume that is gone is a success, one in use a conflict") {
    int status = 404;
    OverStub stub(StubServer::engine(
        [&](const StubRequest&) { return http_answer(status, R"({"message":"volume is in use"})"); }));
    CHECK(stub.run(stub.engine->remove_volume("v")));
    status = 409;
    CHECK(stub.run(stub.engine->remove_volume("v")).error().kind == ErrorKind::conflict);
    CHECK(stub.server.requests().at(0).line() == "DELETE /v1.45/volumes/v");
}

TEST_CASE("an error bears the host, what was tried, the engine's message, and a hint") {
    OverStub stub(always(
        http_answer(500, R"({"message":"could not select device driver \"\" with capabilities: [[gpu]]"})")));
    const auto error = stub.run(stub.engine->start_container(container_id)).error();
    CHECK(error.kind == ErrorKind::engine);
    CHECK(error.where == "a");
    CHECK(error.message ==
          "start container cccccccccccc: could not select device driver \"\" with capabilities: [[gpu]]");
    CHECK(error.hint.find("NVIDIA Container Toolkit") != std::string::npos);
}

TEST_CASE("a redirect is not followed") {
    OverStub stub(always("HTTP/1.1 301 Moved\r\nLocation: /v1.45/elsewhere\r\nContent-Length: 0\r\n\r\n"));
    CHECK(stub.run(stub.engine->start_container(container_id)).error().kind == ErrorKind::protocol);
    CHECK(stub.server.requests().size() == 1);
}

} // namespace requests_test
