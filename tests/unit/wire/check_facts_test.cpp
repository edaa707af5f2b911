#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace check_facts_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

namespace {

const char* const whole = R"json({"answer":"facts",
  "limits":{"memlock":-1,"nofile":1024,"stack":8388608,"nproc":-1},
  "system":{"machine":"aarch64","disk":{"free":1,"size":2},"shm":{"free":3,"size":4},"governors":{"powersave":8},
            "rdma":[{"device":"mlx5_0","port":1,"state":"ACTIVE","link":"InfiniBand","mbps":400000}],
            "rdma_inside":true,"xids":[{"gpu":"0000:3b:00","code":79}],"jobs":["vision-1"]},
  "network":{"interface":"eth0","there":true,"up":true,"loopback":false,"bridge":false,"address_there":true,"mtu":9000,
             "tunnel":true,"first_address":"10.9.0.1","other_ways":[{"interface":"eth1","node":"node-1","nodes":2}]},
  "names":{"by":"getent","hostname":"node-0","addresses":{"node-0":["10.0.0.1"],"node-1":[]}},
  "nccl":{"version":"2.21.5","path":"/usr/lib/libnccl.so.2"},
  "ssh":[{"peer":"node-1","ok":true,"ms":84},{"peer":"node-2","ok":false,"ms":3,"message":"Connection refused"}],
  "programs":{"python":{"code":0,"output":"python 3.13.5\n"}},
  "mounts":{"/data":{"folder":true,"written":false,"why":"Permission denied","listing":"3 9"}}})json";

Result<NodeFacts> facts_in(const json& answer) {
    return parse_answer<FactsQuestion>(answer.dump());
}

NodeFacts parse_facts(const json& answer) {
    const auto facts = facts_in(answer);
    REQUIRE(facts.has_value());
    return *facts;
}

} // namespace

TEST_CASE("a whole answer becomes facts") {
    const auto facts = parse_facts(json::parse(whole));
    REQUIRE(facts.limits.has_value());
    CHECK(facts.limits->nofile == 1024);
    REQUIRE(facts.system.has_value());
    CHECK(facts.system->disk->size.count == 2);
    CHECK(facts.system->shm->free.count == 3);
    CHECK(facts.system->machine == "aarch64");
    CHECK(facts.system->governors.at("powersave") == 8);
    CHECK(facts.system->rdma.at(0).state == "ACTIVE");
    CHECK(facts.system->rdma_inside);
    CHECK(facts.system->xids->at(0).code == 79);
    CHECK(facts.system->jobs == std::vector<std::string>{"vision-1"});
    REQUIRE(facts.network.has_value());
    CHECK(facts.network->mtu == 9000);
    CHECK(facts.network->tunnel);
    CHECK(facts.network->first_address == "10.9.0.1");
    REQUIRE(facts.network->other_ways.size() == 1);
    CHECK(facts.network->other_ways[0].interface == "eth1");
    CHECK(facts.network->other_ways[0].nodes == 2);
    REQUIRE(facts.names.has_value());
    CHECK(facts.names->addresses.at("node-0") == std::vector<std::string>{"10.0.0.1"});
    CHECK(facts.names->addresses.at("node-1").empty());
    CHECK(facts.nccl->version == "2.21.5");
    REQUIRE(facts.logins.has_value());
    CHECK(facts.logins->at(1).message == "Connection refused");
    CHECK(facts.programs.at("python")->output == "python 3.13.5\n");
    CHECK(facts.mounts.at("/data")->why == "Permission denied");
    CHECK(json(facts)["ssh"] == json::parse(whole)["ssh"]);
    auto again = json(facts);
    again["answer"] = "facts";
    CHECK(again == json::parse(whole));
}

TEST_CASE("what a node says of its interface is bounded") {
    const auto is_taken = [](auto change) {
        auto answer = json::parse(whole);
        change(answer["network"]);
        const auto facts = facts_in(answer);
        return facts && facts->network;
    };
    const json way = json::parse(whole)["network"]["other_ways"][0];
    CHECK(is_taken([&](json& network) { network["other_ways"] = std::vector<json>(most_other_ways, way); }));
    CHECK_FALSE(is_taken(
        [&](json& network) { network["other_ways"] = std::vector<json>(most_other_ways + 1, way); }));
    CHECK_FALSE(is_taken([](json& network) { network["other_ways"][0]["node"] = std::string(65, 'x'); }));
    CHECK_FALSE(is_taken([](json& network) { network["interface"] = std::string(65, 'x'); }));
    CHECK_FALSE(is_taken([](json& network) { network["first_address"] = std::string(65, 'x'); }));
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

TEST_CASE("a part of another shape is a protocol error of that part, and of no other") {
    for (const auto* part : {"limits", "system", "network", "names", "ssh", "nccl"}) {
        for (const auto& value :
             {json(nullptr), json(1), json("x"), json{{"error", 1}}, json{{"error", {{"kind", 7}}}}}) {
            auto answer = json::parse(whole);
            answer[part] = value;
            CAPTURE(answer.dump());
            const auto facts = parse_facts(answer);
            const auto failed = [part](const char* key, const auto& result) {
                CHECK(result.has_error() == (std::string(part) == key));
                CHECK((result.has_value() || result.error().kind == ErrorKind::protocol));
            };
            failed("limits", facts.limits);
            failed("system", facts.system);
            failed("network", facts.network);
            failed("names", facts.names);
            failed("ssh", facts.logins);
            failed("nccl", facts.nccl);
        }
    }
}

TEST_CASE("a damaged place inside a part is named") {
    const auto with = [](const char* place, const json& value) {
        auto answer = json::parse(whole);
        answer[json::json_pointer(place)] = value;
        return parse_facts(answer);
    };
    CHECK(with("/system/rdma", json::array({1})).system.error().message ==
          "the node's answer about system: \"rdma\" must be an array of objects");
    CHECK(with("/system/disk/free", -5).system.error().message ==
          "the node's answer about system: disk: \"free\" must be an integer from 0");
    CHECK(with("/system/governors/powersave", "x").system.has_error());
    CHECK(with("/system/xids", 1).system.has_error());
    CHECK(with("/names/addresses/node-0", "10.0.0.1").names.has_error());
    CHECK(with("/ssh/0", 1).logins.error().message == "the node's answer about ssh is not an object");
    CHECK(with("/ssh/0/ok", "yes").logins.has_error());
    CHECK(with("/programs/python", 1).programs.at("python").has_error());
    CHECK(with("/mounts/~1data", json::object()).mounts.at("/data").error().message ==
          "the node's answer about /data: \"folder\" is missing");
    auto answer = json::parse(whole);
    answer["programs"] = 1;
    CHECK(facts_in(answer).error().kind == ErrorKind::protocol);
    answer = json::parse(whole);
    answer["mounts"] = json::array();
    CHECK(facts_in(answer).error().message == "the answer to facts: \"mounts\" must be an object");
}

TEST_CASE("facts that are not known are not told") {
    CHECK(json(NetworkFacts{.interface = "gone0"}) == json{{"interface", "gone0"}, {"there", false}});
    CHECK(json(NcclLibrary{}) == json::object());
    const json system = SystemFacts{};
    CHECK(system["disk"].is_null());
    CHECK_FALSE(system.contains("xids"));
    SystemFacts read{.disk = Room{}};
    REQUIRE(read_value(system, "it", read).has_value());
    CHECK_FALSE(read.xids);
    CHECK_FALSE(json(PeerLogin{.peer = "node-1", .ok = true}).contains("message"));
}

TEST_CASE("any value in any place is survived") {
    std::mt19937 random(7);
    const auto flat = json::parse(whole).flatten();
    std::vector<std::string> places;
    for (const auto& [place, value] : flat.items()) {
        places.push_back(place);
    }
    const json values[] = {json(nullptr),        json(-1),  json(1e300), json(""), json(json::array()),
                           json(json::object()), json(true)};
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        auto answer = json::parse(whole);
        answer[json::json_pointer(places[random() % places.size()])] = values[random() % std::size(values)];
        const auto facts = facts_in(answer);
        if (!facts) {
            CHECK(facts.error().kind == ErrorKind::protocol);
        }
        refused += !facts || !facts->limits || !facts->system || !facts->network ? 1 : 0;
    }
    CHECK(refused > 0);
}

TEST_CASE(
    "the question for facts survives the way; a program without words and a strange token are refused") {
    const FactsQuestion question{.peers = {"node-1"},
                                 .programs = {{.name = "python", .argv = {"python", "\xff"}}},
                                 .mounts = {"/data"},
                                 .token = "1a2b"};
    const auto asked = parse_question(question_line(question));
    REQUIRE(asked.has_value());
    CHECK(asked->ask == "facts");
    const auto read = read_question<FactsQuestion>(*asked);
    REQUIRE(read.has_value());
    CHECK(json(*read) == json(question));
    const auto refusal = [](const char* line) {
        return read_question<FactsQuestion>(parse_question(line).value()).error().message;
    };
    CHECK(refusal(R"({"ask":"facts","programs":[{"name":"x"}]})") ==
          "the question for facts: programs: a program of the check has no name or no words");
    CHECK(refusal(R"({"ask":"facts","mounts":["/data"],"token":"../x"})") ==
          "the question for facts: an invalid token of the check");
    CHECK(refusal(R"({"ask":"facts","mounts":["data"],"token":"a1"})") ==
          "the question for facts: not a folder: data");
    CHECK(refusal(R"({"ask":"facts","peers":1})") == "the question for facts: \"peers\" must be an array");
    CHECK(read_question<FactsQuestion>({.ask = "facts", .body = json::object()}).has_value());
}

} // namespace check_facts_test
