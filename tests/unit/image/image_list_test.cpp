#include "client/image/image_list.hpp"
#include "fakes/fake_engine.hpp"
#include "golden.hpp"
#include "unit/plan/cluster_builder.hpp"

#include <boost/asio/io_context.hpp>

namespace image_list_test {

using namespace dockdist;

namespace {

struct Hosts {
    explicit Hosts(int count) : spec(testing::spec_of(count)) {
        for (const auto& host : spec.hosts) {
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), host.name.str());
            engine->add_image("train:1",
                              "sha256:3bf57800663bd77b6713b2f752e0c6bc7eaa0d2cc860af3db1a3f0c6389f117b");
            engine->images["train:1"].layers = {"sha256:e90cc07386f304468c5d", "sha256:ac341de5007937209"};
            engine->images["train:1"].created = "2026-11-21T16:45:16.682987719Z";
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }
    LackingHosts without(const ImageList& list) { // what the first one has
        return run_task(io, hosts_without(list, fakes[0]->images["train:1"], spec, engines));
    }
    ImageList list() { return run_task(io, list_images(spec, engines)); }

    boost::asio::io_context io{};
    ClusterSpec spec;
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
};

} // namespace

TEST_CASE("the same image on every host, under ids that differ") {
    Hosts hosts(2);
    hosts.fakes[1]->images["train:1"].id = "sha256:0123456789abcdef";
    const auto list = hosts.list();
    CHECK(list.same_everywhere());
    check_golden("image/ls_same.txt", to_text(list));
}

TEST_CASE("an image that differs, one that is not there, a host that is not") {
    Hosts hosts(4);
    hosts.fakes[1]->images["train:1"].layers = {"sha256:a", "sha256:b"};
    hosts.fakes[1]->images["train:1"].id = "sha256:0123456789abcdef";
    hosts.fakes[2]->images.clear();
    hosts.fakes[3]->fail("inspect_image", {ErrorKind::unreachable, "node-3", "no route to host", ""});
    const auto list = hosts.list();
    CHECK_FALSE(list.same_everywhere());
    REQUIRE(list.errors.size() == 1);
    CHECK(list.errors[0].where == "node-3 (tcp://10.0.0.4:2375)");
    check_golden("image/ls_differs.txt", to_text(list));
}

TEST_CASE("who lacks the image, or has one that only begins differently, is to be sent it") {
    Hosts hosts(4);
    auto& other = hosts.fakes[1]->images["train:1"];
    other.command = {"python"};
    hosts.fakes[2]->images.clear();
    hosts.fakes[3]->fail("inspect_image", {ErrorKind::unreachable, "node-3", "no route to host", ""});
    const auto list = hosts.list();
    CHECK_FALSE(list.same_everywhere());
    const auto lacking = hosts.without(list);
    CHECK(lacking.hosts == std::vector<std::size_t>{1, 2});
    CHECK(lacking.errors.empty());
    CHECK(
        to_text(list).find("node-1 has 3bf57800663b (made 2026-11-21 16:45, 100.0 MiB; the same layers, but "
                           "another command)") != std::string::npos);
}

TEST_CASE("another architecture has other layers, and that is the same image") {
    Hosts hosts(2);
    hosts.fakes[1]->images["train:1"].layers = {"sha256:a"};
    hosts.fakes[1]->images["train:1"].architecture = "arm64";
    CHECK(hosts.list().same_everywhere());
}

TEST_CASE("a host that the image is not for is told, and keeps what it has for itself") {
    Hosts hosts(4);
    for (const std::size_t host : {1U, 2U, 3U}) {
        hosts.fakes[host]->engine_info.architecture = "aarch64";
        hosts.fakes[host]->images["train:1"].architecture = host == 1 ? "arm64" : "amd64";
        hosts.fakes[host]->images["train:1"].layers = {"sha256:other"};
    }
    hosts.fakes[2]->images.clear();
    const auto lacking = hosts.without(hosts.list());
    CHECK(lacking.hosts.empty());
    REQUIRE(lacking.errors.size() == 2);
    CHECK(lacking.errors[0].where == "node-2 (tcp://10.0.0.3:2375)");
    CHECK(lacking.errors[0].message == "the image is for amd64, the host is aarch64");
    CHECK(lacking.errors[1].where == "node-3 (tcp://10.0.0.4:2375)");
}

TEST_CASE("a chain id is that of the OCI image specification") {
    CHECK(chain_id({}) == "");
    CHECK(chain_id({"sha256:a"}) == "sha256:a");
    // printf 'sha256:a sha256:b' | sha256sum
    CHECK(chain_id({"sha256:a", "sha256:b"}) ==
          "sha256:970a948bffa8de94d6e22d747ba8c95030e6e546909f98f54e99a13005e173a8");
}

TEST_CASE("a strange answer of an engine writes no escape sequence") {
    Hosts hosts(1);
    auto& image = hosts.fakes[0]->images["train:1"];
    image.id = "\x1b[31m";
    image.created = "\x1b[2J\x1b[2J\x1b[2J\x1b[2J";
    image.architecture = "\x1b[31mamd64";
    CHECK(to_text(hosts.list()).find('\x1b') == std::string::npos);
}

} // namespace image_list_test
