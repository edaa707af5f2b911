#include "client/cluster/down.hpp"
#include "client/plan/labels.hpp"
#include "fake_cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

namespace up_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

const std::vector<std::string> two_nodes{"0:dockdist-vision-node-0", "1:dockdist-vision-node-1"};

// The volume is there, the program is not: only the first start tells.
void leave_half_an_upload(FakeEngine& engine) {
    engine.volumes["dockdist-toolkit-t1"] = {.name = "dockdist-toolkit-t1"};
    engine.fail("start_container",
                {ErrorKind::engine, "",
                 "exec: \"/opt/dockdist/bin/dockdist-init\": stat: no such file or directory", ""});
}

} // namespace

TEST_CASE("up makes every node, joins them and takes the lock away again") {
    FakeCluster cluster(2);
    const auto result = cluster.up();
    CHECK(result.errors.empty());
    CHECK(result.changed);
    REQUIRE(result.nodes.size() == 2);
    CHECK(result.nodes[1].record.address == "10.0.0.2");
    REQUIRE(result.timings.size() == 4);
    for (const auto& phase : result.timings) {
        CAPTURE(phase.phase);
        CHECK(phase.slowest.starts_with("node-"));
    }
    CHECK(cluster.containers() == two_nodes);
}

TEST_CASE("up makes about seven round trips to a host, whatever the number of hosts") {
    for (const int hosts : {1, 2, 16}) {
        CAPTURE(hosts);
        FakeCluster cluster(hosts);
        cluster.up();
        // ping, [info, list, image, a volume for each toolkit together], [upload: create, put, remove: once a
        // host and version], create, attach, start; the first host is also asked for the lock, which is
        // taken, seen to be ours still, and released.
        const auto& last = cluster.fakes.back()->calls;
        CHECK(last.size() == (hosts == 1 ? 16 : 12));
    }
}

TEST_CASE("a host does not wait with its start for the creates of others") {
    FakeCluster cluster(2);
    cluster.fakes[1]->hold("create_container dockdist-vision-node-1");
    cluster.fakes[0]->on_call = [&](const std::string& call) {
        if (call.starts_with("start_container")) { // else nothing would ever happen again
            cluster.fakes[1]->release("create_container dockdist-vision-node-1");
        }
    };
    CHECK(cluster.up().errors.empty());
    CHECK(cluster.containers() == two_nodes);
}

TEST_CASE("a new node is asked on its stdin before it starts, one that runs by an exec") {
    FakeCluster cluster(1);
    cluster.up();
    const auto at = [&](const std::string& what) {
        const auto& calls = cluster.fakes[0]->calls;
        return std::ranges::find_if(calls, [&](const auto& call) { return call.starts_with(what); }) -
               calls.begin();
    };
    CHECK(at("attach_container") < at("start_container"));
    CHECK(at("create_exec") == std::ssize(cluster.fakes[0]->calls));
    cluster.fakes[0]->append_log("dockdist-vision-node-0", "{\"type\":\"starting\"}\n"); // it was restarted
    cluster.fakes[0]->calls.clear();
    CHECK(cluster.up("a2").errors.empty());
    CHECK(at("create_exec dockdist-vision-node-0: /opt/dockdist/bin/dockdist-init join") <
          std::ssize(cluster.fakes[0]->calls));
    CHECK(at("attach_container") == std::ssize(cluster.fakes[0]->calls));
}

TEST_CASE("the list goes through the client a few times, and to whom it does not come when asked for") {
    FakeCluster cluster(48); // of which no one hands it on
    CHECK(cluster.up().errors.empty());
    CHECK_FALSE(cluster.up("a2").changed);
}

TEST_CASE("a second up writes nothing") {
    FakeCluster cluster(2);
    cluster.up();
    for (auto* engine : cluster.fakes) {
        engine->calls.clear();
    }
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK_FALSE(result.changed);
    CHECK(result.nodes.size() == 2);
    for (const auto* engine : cluster.fakes) {
        CHECK(engine->writing_calls().empty());
    }
}

TEST_CASE("the toolkit is uploaded once a host and version") {
    FakeCluster cluster(1);
    cluster.up();
    NoReport reporter;
    run_task(cluster.io, down(cluster.spec, cluster.engines, {}, reporter));
    cluster.fakes[0]->calls.clear();
    cluster.up("a2");
    for (const auto& call : cluster.fakes[0]->calls) {
        CHECK_FALSE(call.starts_with("put_archive"));
    }
}

TEST_CASE("every call of up fails in turn: the error names the host, and nothing is left behind") {
    FakeCluster reference(2);
    reference.up();
    const auto& all = reference.fakes[1]->calls;
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(all[i]);
        FakeCluster cluster(2);
        int seen = 0;
        cluster.fakes[1]->on_call = [&, index = static_cast<int>(i)](const std::string& call) {
            if (seen++ == index) {
                cluster.fakes[1]->fail(call, {ErrorKind::engine, "", "broken", ""});
            }
        };
        const auto result = cluster.up();
        REQUIRE_FALSE(result.errors.empty());
        CHECK(result.errors[0].where.find("node-1") != std::string::npos);
        CHECK(result.errors[0].message.find("broken") != std::string::npos);
        CHECK(cluster.containers().empty());
    }
}

TEST_CASE("the answer of each writing call is lost in turn: nothing is left, and the next up converges") {
    FakeCluster reference(2);
    reference.up();
    for (const auto& call : reference.fakes[1]->writing_calls()) {
        CAPTURE(call);
        if (call.find("_exec ") != std::string::npos) {
            continue; // a lost exec is a broken stream: see the failing calls above
        }
        FakeCluster cluster(2);
        cluster.fakes[1]->lose_answer(call.substr(0, call.find(' ')));
        CHECK_FALSE(cluster.up().errors.empty());
        CHECK(cluster.containers().empty());
        CHECK(cluster.up("a2").errors.empty());
        CHECK(cluster.containers() == two_nodes);
    }
}

TEST_CASE("every host's failure is told, not only the first") {
    FakeCluster cluster(3);
    for (const int host : {0, 2}) {
        cluster.fakes[static_cast<std::size_t>(host)]->fail("start_container",
                                                            {ErrorKind::engine, "", "no GPU", "do this"});
    }
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 2);
    CHECK(result.errors[0].where == "node-0 (tcp://10.0.0.1)");
    CHECK(result.errors[1].where == "node-2 (tcp://10.0.0.3)");
    CHECK(cluster.containers().empty());
}

TEST_CASE("a cancelled up takes back what it made, wherever it was") {
    FakeCluster reference(2);
    reference.up();
    const auto& all = reference.fakes[1]->calls;
    for (const auto& call : all) {
        CAPTURE(call);
        FakeCluster cluster(2);
        cluster.options.attempt = "a1";
        boost::asio::cancellation_signal cancel;
        bool done = false;
        cluster.fakes[1]->on_call = [&](const std::string& now) {
            if (now == call && !done) {
                done = true;
                boost::asio::post(cluster.io, [&] { cancel.emit(boost::asio::cancellation_type::terminal); });
            }
        };
        std::exception_ptr thrown;
        boost::asio::co_spawn(
            cluster.io,
            up(cluster.spec, cluster.engines, cluster.toolkits, cluster.options, cluster.reporter),
            boost::asio::bind_cancellation_slot(
                cancel.slot(), [&](std::exception_ptr exception, UpResult) { thrown = exception; }));
        cluster.io.run();
        if (thrown) { // the last calls may be over before the cancellation arrives
            CHECK(cluster.containers().empty());
            CHECK(cluster.stores() == 0);
        } else {
            CHECK(cluster.containers() == two_nodes);
        }
    }
}

TEST_CASE("--keep leaves what was made, to look at it") {
    FakeCluster cluster(2);
    cluster.options.keep = true;
    cluster.fakes[1]->fail("start_container", {ErrorKind::engine, "", "no GPU", ""});
    CHECK(cluster.up().errors.size() == 1);
    CHECK(cluster.containers() == two_nodes);
}

TEST_CASE("an upload that was cut off is completed") {
    FakeCluster cluster(1);
    leave_half_an_upload(*cluster.fakes[0]);
    CHECK(cluster.up().errors.empty());
    int uploads = 0;
    for (const auto& call : cluster.fakes[0]->calls) {
        uploads += call.starts_with("put_archive") ? 1 : 0;
    }
    CHECK(uploads == 1);
}

TEST_CASE("what is left of a client that was killed while it completed an upload is the cluster's") {
    FakeCluster cluster(1);
    leave_half_an_upload(*cluster.fakes[0]);
    Labels seen;
    cluster.fakes[0]->on_call = [&](const std::string& call) {
        if (call.starts_with("put_archive")) {
            seen = cluster.fakes[0]->container("dockdist-vision-upload.a1").config.labels;
        }
    };
    cluster.up();
    CHECK(seen[labels::cluster] == "vision");
    CHECK(seen[labels::role] == "upload");
}

TEST_CASE("a container of an upload that was cut off goes with the next up, which names all nodes") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[1]->add_container("dockdist-vision-upload.a0",
                                    {.labels = {{labels::cluster, "vision"}, {labels::role, "upload"}}},
                                    ContainerState::created);
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK(result.nodes.size() == 2);
    CHECK(cluster.containers() == two_nodes);
}

TEST_CASE("a create of a killed client that ends after we looked is replaced, what others made stays") {
    struct Late {
        std::string origin;
        ContainerState state;
        bool replaced;
    };
    for (const auto& [origin, state, replaced] :
         {Late{"ops@box:/cluster.yaml", ContainerState::created, true},
          Late{"ops@box:/cluster.yaml", ContainerState::running, false},
          Late{"you@box:/cluster.yaml", ContainerState::created, false}}) {
        CAPTURE(origin);
        CAPTURE(replaced);
        FakeCluster cluster(2);
        auto& engine = *cluster.fakes[1];
        ContainerId late;
        engine.fail("create_container dockdist-vision-node-1",
                    {ErrorKind::conflict, "", "already in use", ""}); // reserved, and not to be seen yet
        int creates = 0;
        engine.on_call = [&](const std::string& call) {
            if (call == "create_container dockdist-vision-node-1" && ++creates == 2) {
                late = engine
                           .add_container("dockdist-vision-node-1",
                                          {.labels = {{labels::cluster, "vision"},
                                                      {labels::node, "node-1"},
                                                      {labels::origin, origin},
                                                      {labels::attempt, "a0"}}},
                                          state)
                           .id;
            }
        };
        const auto result = cluster.up();
        CHECK(result.errors.empty() == replaced);
        CHECK((engine.container("dockdist-vision-node-1").id == late) == !replaced);
    }
}

TEST_CASE("a host without RDMA devices gets its node without them") {
    FakeCluster cluster(1);
    cluster.spec.container.devices_auto = true;
    cluster.fakes[0]->fail("create_container dockdist-vision-node-0",
                           {ErrorKind::engine, "", "bind source path does not exist: /dev/infiniband", ""});
    CHECK(cluster.up().errors.empty());
    CHECK(cluster.fakes[0]->container("dockdist-vision-node-0").config.devices.empty());
    CHECK_FALSE(cluster.up("a2").changed);
}

TEST_CASE("a node that ends the key exchange is named with what it said") {
    FakeCluster cluster(2);
    cluster.fakes[1]->on_exec("attach", "", 1, "no space left on device");
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-1 on node-1 (tcp://10.0.0.2)");
    CHECK(result.errors[0].message == "the node ended the key exchange: no space left on device");
    CHECK(result.errors[0].hint == "see `docker logs` of its container");
    CHECK(cluster.containers().empty());
    cluster.fakes[1]->engine_info.podman = true;
    CHECK(cluster.up("a2").errors.at(0).hint == "see `podman logs` of its container");
}

TEST_CASE("a container that has died tells why, and not what became of the exchange") {
    FakeCluster cluster(2);
    auto& engine = *cluster.fakes[1];
    engine.on_exec("attach", [&engine](FakeExec exec) -> Task<int> {
        engine.append_log(exec.container_name(),
                          "exec /opt/dockdist/bin/dockdist-init: argument list too long\n");
        engine.end_container(exec.container_name(), 1);
        co_return 1;
    });
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-1 on node-1 (tcp://10.0.0.2)");
    CHECK(result.errors[0].message ==
          "its container ended with code 1: exec /opt/dockdist/bin/dockdist-init: argument list too long");
    CHECK(cluster.containers().empty());
}

TEST_CASE("a node's own error keeps its message and hint") {
    FakeCluster cluster(1);
    cluster.fakes[0]->on_exec(
        "attach", wire::error_line({ErrorKind::node, "", "port 2222 is in use", "choose another"}), 1);
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message == "port 2222 is in use");
    CHECK(result.errors[0].hint == "choose another");
}

TEST_CASE("the login for the registry is asked for once, and only when something is to be pulled") {
    FakeCluster cluster(2);
    int asked = 0;
    cluster.options.registry_auth = [&]() -> Task<Result<RegistryAuth>> {
        ++asked;
        co_return RegistryAuth{.header = "bG9naW4=", .registry = "docker.io", .source = "config.json"};
    };
    cluster.up();
    CHECK(asked == 0);
    FakeCluster lacking(2);
    for (auto* engine : lacking.fakes) {
        engine->images.clear();
        engine->on_pull("train:1");
    }
    lacking.options.registry_auth = cluster.options.registry_auth;
    CHECK(lacking.up().errors.empty());
    CHECK(asked == 1);
    CHECK(lacking.fakes[1]->registry_auth == "bG9naW4=");
}

TEST_CASE("a login that cannot be read ends up before anything is made") {
    FakeCluster cluster(1);
    cluster.fakes[0]->images.clear();
    cluster.options.registry_auth = []() -> Task<Result<RegistryAuth>> {
        co_return Error{ErrorKind::config, "config.json", "it is not a JSON object", ""};
    };
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "config.json");
    CHECK(cluster.fakes[0]->writing_calls().empty());
}

TEST_CASE("a pull that the registry refuses names the login it came with") {
    FakeCluster cluster(1);
    cluster.fakes[0]->images.clear(); // no on_pull: access denied
    cluster.options.registry_auth = []() -> Task<Result<RegistryAuth>> {
        co_return RegistryAuth{.registry = "docker.io", .source = "/home/a/.docker/config.json"};
    };
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].hint.starts_with("/home/a/.docker/config.json has no login for docker.io"));
}

} // namespace up_test
