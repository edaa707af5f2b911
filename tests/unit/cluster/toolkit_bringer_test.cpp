#include "client/cluster/toolkit_bringer.hpp"
#include "fake_cluster.hpp"
#include "fakes/warnings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace toolkit_bringer_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

const std::string image = "dockdist-toolkit:t1";
const std::string large(8 << 20, 'x'); // three of them matter
const std::string wrong = "sha256:" + std::string(64, '0');

std::size_t count(const FakeEngine& engine, const std::string& call) {
    return static_cast<std::size_t>(
        std::ranges::count_if(engine.calls, [&](const std::string& each) { return each.starts_with(call); }));
}

std::size_t uploads(const FakeCluster& cluster) {
    std::size_t all = 0;
    for (const auto* engine : cluster.fakes) {
        all += count(*engine, "put_archive");
    }
    return all;
}

// The nodes alone, and the toolkit in its volume.
void check_nothing_is_left(const FakeCluster& cluster) {
    for (const auto* engine : cluster.fakes) {
        CAPTURE(engine->host().str());
        CHECK(engine->containers.size() == 1);
        CHECK_FALSE(engine->images.contains(image));
        CHECK(engine->volumes.contains("dockdist-toolkit-t1"));
    }
}

} // namespace

TEST_CASE("the toolkit leaves this machine twice, and hosts hand it on to the others") {
    for (const int hosts : {3, 4, 16}) {
        CAPTURE(hosts);
        FakeCluster cluster(hosts, large);
        CHECK(cluster.up().errors.empty());
        CHECK(uploads(cluster) == 2);
        std::set<std::string> givers;
        for (std::size_t i = 2; i < cluster.fakes.size(); ++i) {
            const auto& calls = cluster.fakes[i]->calls;
            const auto import = std::ranges::find_if(
                calls, [](const std::string& call) { return call.starts_with("pull_image http://10.0.0."); });
            REQUIRE(import != calls.end());
            givers.insert(import->substr(0, import->rfind('/')));
            CHECK(count(*cluster.fakes[i],
                        "create_exec dockdist-vision-upload.a1: /bin/dockdist-init relay unpack") == 1);
        }
        CHECK(givers.size() >= (hosts == 16 ? 4U : 1U)); // who was given it gives it, too
        check_nothing_is_left(cluster);
    }
}

TEST_CASE("hosts hand the toolkit on to those of their own architecture alone") {
    FakeCluster cluster(8, large); // the even ones are arm64
    for (std::size_t i = 0; i < cluster.fakes.size(); i += 2) {
        cluster.fakes[i]->engine_info.architecture = "aarch64";
        cluster.fakes[i]->images["train:1"].architecture = "arm64";
    }
    CHECK(cluster.up().errors.empty());
    CHECK(uploads(cluster) == 4);
    for (std::size_t i = 0; i < cluster.fakes.size(); ++i) {
        CAPTURE(i);
        const auto& engine = *cluster.fakes[i];
        CHECK(engine.volumes.contains("dockdist-toolkit-t2") == (i % 2 == 0));
        CHECK(engine.volumes.contains("dockdist-toolkit-t1") == (i % 2 == 1));
        CHECK(engine.containers.size() == 1);
        CHECK_FALSE(engine.images.contains("dockdist-toolkit:t1"));
        CHECK_FALSE(engine.images.contains("dockdist-toolkit:t2"));
        for (const auto& call : engine.calls) {
            constexpr std::string_view from = "pull_image http://10.0.0.";
            if (call.starts_with(from)) { // host i has the address 10.0.0.(i + 1)
                CHECK((call.at(from.size()) - '1') % 2 == static_cast<int>(i % 2));
            }
        }
    }
}

TEST_CASE("one or two hosts get it from here, as ever") {
    for (const int hosts : {1, 2}) {
        FakeCluster cluster(hosts, large);
        CHECK(cluster.up().errors.empty());
        CHECK(uploads(cluster) == static_cast<std::size_t>(hosts));
        for (const auto* engine : cluster.fakes) {
            CHECK(count(*engine, "create_exec dockdist-vision-upload") == 0);
        }
        check_nothing_is_left(cluster);
    }
}

TEST_CASE("what is not the toolkit is removed before anything of it runs, said, and fetched from elsewhere") {
    FakeCluster cluster(4, large);
    std::string liar;
    for (auto* engine : cluster.fakes) {
        FakeCluster::let_import(*engine, [&](const std::string& giver) {
            liar = liar.empty() ? giver : liar;
            return std::vector{giver == liar ? wrong : sha256_of(cluster.tar)};
        });
    }
    Warnings warnings;
    cluster.options.attempt = "a1";
    const auto result =
        run_task(cluster.io, up(cluster.spec, cluster.engines, cluster.toolkits, cluster.options, warnings));
    CHECK(result.errors.empty());
    REQUIRE_FALSE(warnings.texts.empty());
    CHECK(warnings.texts.front().find("was not what it should have passed on, and was removed") !=
          std::string::npos);
    for (const auto* engine : cluster.fakes) {
        const auto& calls = engine->calls;
        for (auto call = calls.begin(); call != calls.end(); ++call) {
            if (call->starts_with("pull_image " + liar)) {
                REQUIRE(calls.end() - call > 2);
                CHECK(*(call + 1) == "inspect_image " + image);
                CHECK(*(call + 2) == "remove_image " + image);
            }
        }
    }
    CHECK(uploads(cluster) == 2);
    check_nothing_is_left(cluster);
}

TEST_CASE("an engine that cannot fetch it, and a host whose relay breaks off, cost one upload more") {
    FakeCluster cluster(4, large);
    FakeCluster::let_import(*cluster.fakes[3], nullptr);
    CHECK(cluster.up().errors.empty());
    CHECK(uploads(cluster) == 3);
    CHECK(count(*cluster.fakes[3], "put_archive") == 1);
    check_nothing_is_left(cluster);

    FakeCluster other(3, large);
    for (auto* engine : other.fakes) {
        engine->on_exec("relay give", "", 1, "cannot listen");
    }
    CHECK(other.up().errors.empty());
    CHECK(uploads(other) == 3);
    check_nothing_is_left(other);
}

TEST_CASE("a first host that drops out is passed over, and told") {
    FakeCluster cluster(5, large);
    cluster.fakes[0]->fail("put_archive", {ErrorKind::unreachable, "", "connection lost", ""});
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where.starts_with("node-0"));
    CHECK(uploads(cluster) <= 3);
    std::size_t imports = 0;
    for (const auto* engine : cluster.fakes) {
        imports += count(*engine, "pull_image http:");
        CHECK(engine->containers.empty()); // taken back
        CHECK_FALSE(engine->images.contains(image));
    }
    CHECK(imports >= 2);
}

TEST_CASE("a host that cannot keep what came is told with its own error") {
    FakeCluster cluster(3, large);
    cluster.fakes[2]->on_exec("relay unpack", "", 1, "lib/libc.so.6: No space left on device");
    cluster.fakes[2]->fail("put_archive", {ErrorKind::engine, "", "no space left on device", ""});
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where.starts_with("node-2"));
    CHECK(result.errors[0].message.find("no space left on device") != std::string::npos);
}

TEST_CASE("an image that a killed client has left is taken, or removed where it is another one") {
    FakeCluster cluster(4, large);
    for (const auto i : {2U, 3U}) {
        cluster.fakes[i]->add_image(image);
        cluster.fakes[i]->images[image].layers = {i == 2 ? sha256_of(cluster.tar) : wrong};
    }
    CHECK(cluster.up().errors.empty());
    CHECK(count(*cluster.fakes[2], "pull_image http:") == 0);
    CHECK(count(*cluster.fakes[3], "pull_image http:") == 1);
    check_nothing_is_left(cluster);
}

TEST_CASE(
    "two entries of the file that are one engine bring it once, and neither goes on before it is there") {
    FakeCluster cluster(4, large);
    cluster.fakes[3]->fail("create_container dockdist-vision-upload",
                           {ErrorKind::conflict, "", "in use", ""});
    CHECK(cluster.up().errors.empty());
    CHECK(uploads(cluster) == 2);

    FakeCluster two(2);
    two.fakes[0]->fail("create_container dockdist-vision-upload", {ErrorKind::conflict, "", "in use", ""});
    CHECK(two.up().errors.empty());
    CHECK(uploads(two) == 1);
    const auto there = std::ranges::find(two.log, "node-1: remove_container dockdist-vision-upload.a1");
    const auto next = std::ranges::find(two.log, "node-0: create_container dockdist-vision-node-0");
    REQUIRE(next != two.log.end());
    CHECK(there < next);
}

} // namespace toolkit_bringer_test
