#include "check/node_facts.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace node_facts_test {

using namespace dockdist;
using nlohmann::json;

namespace {

const char* const whole = R"json({"answer":"facts",
  "limits":{"memlock":-1,"nofile":1024,"stack":8388608,"nproc":-1},
  "system":{"disk":{"free":1,"size":2},"shm":{"free":3,"size":4},"governors":{"powersave":8},
            "rdma":[{"device":"mlx5_0","port":1,"state":"ACTIVE","rate":"400 Gb/sec (4X NDR)","link":"InfiniBand"}],
            "rdma_inside":true,"xids":[{"gpu":"0000:3b:00","code":79}],"jobs":["vision-1"]},
  "network":{"interface":"eth0","there":true,"up":true,"loopback":false,"bridge":false,"address_there":true,"mtu":9000},
  "names":{"by":"getent","hostname":"node-0","addresses":{"node-0":["10.0.0.1"],"node-1":[]}},
  "nccl":{"version":"2.21.5","path":"/usr/lib/libnccl.so.2"},
  "ssh":[{"peer":"node-1","ok":true,"ms":84},{"peer":"node-2","ok":false,"ms":3,"message":"Connection refused"}],
  "programs":{"python":{"code":0,"output":"python 3.13.5\n"}},
  "mounts":{"/data":{"folder":true,"written":false,"why":"Permission denied","listing":"3 9"}}})json";

} // namespace

TEST_CASE("a whole answer becomes facts") {
    const auto facts = parse_facts(json::parse(whole));
    REQUIRE(facts.limits.has_value());
    CHECK(facts.limits->nofile == 1024);
    REQUIRE(facts.system.has_value());
    CHECK(facts.system->disk->size.count == 2);
    CHECK(facts.system->shm->free.count == 3);
    CHECK(facts.system->governors.at("powersave") == 8);
    CHECK(facts.system->rdma.at(0).state == "ACTIVE");
    CHECK(facts.system->rdma_inside);
    CHECK(facts.system->xids->at(0).code == 79);
    CHECK(facts.system->jobs == std::vector<std::string>{"vision-1"});
    REQUIRE(facts.network.has_value());
    CHECK(facts.network->mtu == 9000);
    REQUIRE(facts.names.has_value());
    CHECK(facts.names->addresses.at("node-0") == std::vector<std::string>{"10.0.0.1"});
    CHECK(facts.names->addresses.at("node-1").empty());
    CHECK(facts.nccl == "2.21.5");
    REQUIRE(facts.logins.has_value());
    CHECK(facts.logins->at(1).message == "Connection refused");
    CHECK(facts.programs.at("python")->output == "python 3.13.5\n");
    CHECK(facts.mounts.at("/data")->why == "Permission denied");
}

TEST_CASE("a part that hung or is not there is an error of its own") {
    auto answer = json::parse(whole);
    answer["system"] = {{"error", {{"kind", "timeout"}, {"message", "no end within 16 s"}}}};
    answer["mounts"]["/data"] = {{"error", {{"kind", "timeout"}, {"message", "no end within 16 s"}}}};
    answer.erase("limits");
    const auto facts = parse_facts(answer);
    CHECK(facts.system.error().message == "no end within 16 s");
    CHECK(facts.system.error().kind == ErrorKind::timeout);
    CHECK(facts.mounts.at("/data").has_error());
    CHECK(facts.limits.error().message == "the node said nothing about limits");
    CHECK(facts.network.has_value());
}

TEST_CASE("parts of another shape are errors, never more") {
    for (const auto* part : {"limits", "system", "network", "names", "ssh", "nccl", "programs", "mounts"}) {
        for (const auto& value : {json(nullptr), json(1), json("x"), json::array({1, "x", json::object()}),
                                  json{{"error", 1}}, json{{"error", {{"kind", 7}}}}, json{{"disk", 1}}}) {
            auto answer = json::parse(whole);
            answer[part] = value;
            CAPTURE(answer.dump());
            (void)parse_facts(answer);
        }
    }
    auto answer = json::parse(whole);
    answer["system"]["rdma"] = json::array({1});
    CHECK(parse_facts(answer).system.has_error());
    answer = json::parse(whole);
    answer["system"]["disk"]["free"] = -5;
    CHECK(parse_facts(answer).system.has_error());
    answer = json::parse(whole);
    answer["names"]["addresses"]["node-0"] = "10.0.0.1";
    CHECK(parse_facts(answer).names.has_error());
    CHECK(parse_facts(json::array()).limits.has_error());
}

TEST_CASE("any value in any place is survived, and costs no more than its own part") {
    std::mt19937 random(7);
    const auto flat = json::parse(whole).flatten();
    std::vector<std::string> places;
    for (const auto& [place, value] : flat.items()) {
        places.push_back(place);
    }
    const json values[] = {json(nullptr),        json(-1),  json(1e300), json(""), json(json::array()),
                           json(json::object()), json(true)};
    for (int i = 0; i < 2000; ++i) {
        auto answer = json::parse(whole);
        const auto& place = places[random() % places.size()];
        answer[json::json_pointer(place)] = values[random() % std::size(values)];
        CAPTURE(answer.dump());
        const auto facts = parse_facts(answer);
        CHECK((facts.limits.has_value() || place.starts_with("/limits/")));
        CHECK((facts.system.has_value() || place.starts_with("/system/")));
        CHECK((facts.network.has_value() || place.starts_with("/network/")));
        CHECK((facts.names.has_value() || place.starts_with("/names/")));
        CHECK((facts.logins.has_value() || place.starts_with("/ssh/")));
        CHECK((facts.nccl == "2.21.5" || place.starts_with("/nccl/")));
        CHECK(facts.programs.size() == 1);
        CHECK(facts.mounts.size() == 1);
        CHECK(parse_seen(answer).empty());
    }
}

TEST_CASE("tokens that a node saw; what is not a list of names is none") {
    const auto seen = parse_seen(json::parse(R"({"seen":{"/data":["node-0",7],"/x":1,"/y":{"error":{}}}})"));
    CHECK(seen.at("/data") == std::vector<std::string>{"node-0"});
    CHECK_FALSE(seen.contains("/x"));
    CHECK(parse_seen(json(1)).empty());
    CHECK(parse_seen(json{{"seen", 1}}).empty());
}

} // namespace node_facts_test
