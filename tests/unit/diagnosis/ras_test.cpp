#include "shared/diagnosis/ras.hpp"
#include "shared/wire/stacks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ras_test {

using namespace dockdist;
using Kind = HangVerdict::Kind;
using Found = wire::RasRank::Kind;

namespace {

// What NCCL 2.28.9 has answered on real GPUs, behind the handshake.
std::string recorded(const std::string& name) {
    std::ifstream stream(std::string(DOCKDIST_SOURCE_DIR) + "/tests/gpu_day/recordings/h200/ras/" + name +
                         ".txt");
    REQUIRE(stream.good());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto status = text.rfind("STATUS\n");
    return text.substr(status + 7);
}

RasStatus json(const std::string& text) {
    auto status = read_ras_json(text);
    REQUIRE_MESSAGE(status.has_value(), status.error().message);
    return std::move(*status);
}

RasStatus text(const std::string& said) {
    auto status = read_ras_text(said);
    REQUIRE_MESSAGE(status.has_value(), status.error().message);
    return std::move(*status);
}

// A communicator of `counts.size()` ranks, rank N being process 400 + N, with that many of AllReduce.
std::string communicator(const std::string& hash, const std::vector<int>& processes,
                         const std::vector<int>& counts) {
    std::string ranks;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        ranks += std::string(i == 0 ? "" : ",") + R"({"rank":)" + std::to_string(i) +
                 R"(,"host":"10.0.0.1","pid":)" + std::to_string(400 + processes[i]) +
                 R"(,"status":{"init_state":0,"async_error":0},"collective_counts":{"AllReduce":)" +
                 std::to_string(counts[i]) + "}}";
    }
    return R"({"hash":")" + hash + R"(","secondary_hash":"0x1","size":)" + std::to_string(counts.size()) +
           R"(,"ranks":[)" + ranks + R"(],"missing_ranks":[]})";
}

std::string answer(const std::string& communicators) {
    return R"({"nccl_version":"2.30.7","communicators":[)" + communicators + "]}";
}

const std::vector four{0, 1, 2, 3};
const std::vector<RasPlace> places{
    {0, "10.0.0.1", 400}, {1, "10.0.0.1", 401}, {2, "10.0.0.1", 402}, {3, "10.0.0.1", 403}};

Evidence judged(const std::string& first, const std::string& later) {
    return judge_ras({compare_ras(json(first), json(later), 1000)}, places, 4);
}

} // namespace

TEST_CASE("a job that is well, as NCCL 2.28.9 tells it: nothing differs") {
    for (const auto& status :
         {json(recorded("well-json")), text(recorded("well-text")), text(recorded("well-verbose"))}) {
        CHECK(status.version == "2.28.9");
        CHECK(status.ranks.empty());
        CHECK_FALSE(status.differs());
        CHECK(judge_ras({report_of(status)}, {}, 2).kind == Kind::none);
        CHECK(judge_ras({report_of(status)}, {}, 2).text == "all ranks have launched the same");
    }
}

TEST_CASE("ranks that wait for each other in two communicators, as NCCL 2.28.9 tells it") {
    for (const auto& status : {json(recorded("skipped-json")), text(recorded("skipped-text")),
                               text(recorded("skipped-verbose"))}) {
        REQUIRE(status.ranks.size() == 2);
        CHECK(status.differs());
        CHECK(status.ranks[0].rank == 0);
        CHECK(status.ranks[0].pid == 3539);
        CHECK(status.ranks[0].host == "127.0.0.1");
        CHECK(status.ranks[0].operation == "AllReduce");
        CHECK(status.ranks[0].count == 90);
        CHECK(status.ranks[0].most == 91);
        CHECK(status.ranks[1].rank == 1);
        CHECK(status.ranks[1].waits);
        const auto verdict = judge_ras({compare_ras(status, status, 1000)},
                                       {{0, "127.0.0.1", 3539}, {1, "127.0.0.1", 3540}}, 2);
        CHECK(verdict.kind == Kind::mismatch);
        CHECK(verdict.ranks == std::vector{0, 1});
    }
}

TEST_CASE("a process that is stopped or was killed, as NCCL 2.28.9 tells it, which forgets a comma") {
    const auto kind_of = [](const RasStatus& status) {
        REQUIRE_FALSE(status.ranks.empty());
        CHECK(status.ranks[0].rank == 1);
        CHECK(status.ranks[0].pid == 3441);
        return status.ranks[0].kind;
    };
    CHECK(kind_of(json(recorded("stopped-unresponsive-json"))) == Found::unresponsive);
    CHECK(kind_of(text(recorded("stopped-unresponsive-text"))) == Found::unresponsive);
    CHECK(kind_of(json(recorded("stopped-dead-json"))) == Found::dead);
    CHECK(kind_of(text(recorded("stopped-dead-text"))) == Found::dead);
    CHECK(kind_of(text(recorded("killed-text"))) == Found::dead);
    const auto killed = json(recorded("killed-json")); // its peer has an error for that
    const auto verdict = judge_ras({report_of(killed)}, {{1, "127.0.0.1", 3441}, {0, "127.0.0.1", 3440}}, 2);
    CHECK(verdict.kind == Kind::behind);
    CHECK(verdict.ranks == std::vector{1});
    CHECK(verdict.text == "rank 1 has not answered for a minute");
}

TEST_CASE("counts that differ and stand: who is behind") {
    const auto stands = answer(communicator("0xa", four, {1204, 1204, 1203, 1204}));
    const auto verdict = judged(stands, stands);
    CHECK(verdict.kind == Kind::behind);
    CHECK(verdict.ranks == std::vector{2});
    CHECK(verdict.text == "rank 2 has launched 1203 AllReduce of 1204; no count moved in 1.00 s");
    const auto moved = judged(stands, answer(communicator("0xa", four, {1205, 1204, 1204, 1205})));
    CHECK(moved.kind == Kind::none);
    CHECK(moved.text == "counts differ, and grow: slow, not hung");
}

TEST_CASE("the few that are ahead are said to be no culprits: most are behind") {
    const auto ahead = answer(communicator("0xa", four, {1204, 1203, 1203, 1203}));
    const auto verdict = judged(ahead, ahead);
    CHECK(verdict.kind == Kind::none);
    CHECK(verdict.ranks.empty());
    CHECK(
        verdict.text ==
        "rank 0 has launched 1204 AllReduce, most others 1203: that names nobody; no count moved in 1.00 s");
}

TEST_CASE("where some are ahead of most, who is behind most is behind all the same") {
    const auto three = answer(communicator("0xa", {0, 1, 2, 3, 4}, {1205, 1204, 1203, 1204, 1204}));
    CHECK(judged(three, three).ranks == std::vector{2});
    const auto circle =
        R"({"hash":"0xb","size":4,"ranks":[)"
        R"({"rank":0,"pid":1,"status":{},"collective_counts":{"AllReduce":4,"Broadcast":3}},)"
        R"({"rank":1,"pid":2,"status":{},"collective_counts":{"AllReduce":4,"Broadcast":3}},)"
        R"({"rank":2,"pid":3,"status":{},"collective_counts":{"AllReduce":3,"Broadcast":4}},)"
        R"({"rank":3,"pid":4,"status":{},"collective_counts":{"AllReduce":4,"Broadcast":3}}]})";
    const auto verdict = judged(answer(circle), answer(circle));
    CHECK(verdict.kind == Kind::mismatch); // it calls another one than the others
    CHECK(verdict.ranks == std::vector{2});
}

TEST_CASE("text names the few, whoever is right: most of 2.28's ranks are behind one that is named") {
    const auto status = text("NCCL version 2.28.3 compiled with CUDA 12.8\n\nErrors\n======\n\n"
                             "#0-0 (1f3c6a9e22d04b71) MISMATCH\n"
                             "  Communicator ranks have different AllReduce operation counts\n"
                             "  7 ranks have launched up to operation 1203\n"
                             "  Rank 6 has launched up to operation 1204 -- GPU 2 managed by process 411 on "
                             "node 10.0.0.2\n");
    REQUIRE(status.ranks.size() == 1);
    CHECK(status.ranks[0].kind == Found::ahead);
    CHECK(status.differs());
    CHECK(judge_ras({compare_ras(status, status, 1000)}, {{6, "10.0.0.2", 411}}, 8).ranks.empty());
}

TEST_CASE("of a thousand ranks in ten communicators no more is told than the judge needs") {
    std::string all;
    std::vector<int> processes;
    for (int i = 0; i < 1024; ++i) {
        processes.push_back(i);
    }
    std::vector counts(1024, 5);
    std::fill(counts.begin() + 900, counts.end(), 4);
    for (int i = 0; i < 10; ++i) {
        all += (all.empty() ? "" : ",") + communicator("0x" + std::to_string(i), processes, counts);
    }
    const auto few = json(answer(all));
    const auto report = compare_ras(few, few, 1000);
    CHECK(wire::stacks_told_line(report).size() < (64U << 10U));
    CHECK(judge_ras({report}, {}, 1024).ranks.front() == 900);
}

TEST_CASE("an error that comes of another one's end, and a group that only others keep, name nobody") {
    wire::RasReport report{
        .version = "2.30.7",
        .ranks = {{.kind = Found::failed, .rank = 1, .size = 4, .operation = "remote process error"}}};
    CHECK(judge_ras({report}, places, 4).kind == Kind::none);
    report.ranks = {{.kind = Found::failed, .rank = 1, .size = 4, .operation = "unhandled CUDA error"}};
    CHECK(judge_ras({report}, places, 4).text == "rank 1 has the error \"unhandled CUDA error\"");
    report.ranks = {{.kind = Found::gone, .rank = 2, .size = 4, .host = "10.0.0.1", .pid = 402}};
    CHECK(judge_ras({report}, places, 4).ranks == std::vector{2});
    auto waits = places;
    waits[2].waits = true;
    CHECK(judge_ras({report}, waits, 4).ranks.empty());
}

TEST_CASE("who is behind because it waits in another communicator is not the cause") {
    // 0 and 1 share a, 1 and 2 share b: 0 waits for 1, which waits for 2.
    const auto chain =
        answer(communicator("0xa", {0, 1}, {8, 7}) + "," + communicator("0xb", {1, 2}, {5, 4}));
    const auto verdict = judged(chain, chain);
    CHECK(verdict.kind == Kind::behind);
    CHECK(verdict.ranks == std::vector{2});
}

TEST_CASE("a rank is found by its process, else by its number in a communicator of the whole job") {
    wire::RasReport report{
        .version = "2.30.7",
        .asked_ms = 1000,
        .ranks = {
            {.rank = 1, .size = 4, .host = "10.0.0.1", .pid = 403, .operation = "AllReduce", .most = 1}}};
    CHECK(judge_ras({report}, places, 4).ranks == std::vector{3});
    CHECK(judge_ras({report}, {}, 4).ranks == std::vector{1});
    const auto unknown = judge_ras({report}, {}, 8);
    CHECK(unknown.ranks.empty());
    CHECK(unknown.text == "process 403 on 10.0.0.1 has launched 0 AllReduce of 1; no count moved in 1.00 s");
    report.ranks.push_back(report.ranks[0]); // another node has heard the same
    CHECK(
        judge_ras({report, report}, places, 4).text.starts_with("rank 3 has launched 0 AllReduce of 1; no"));
}

TEST_CASE("no evidence says why") {
    CHECK(judge_ras({}, {}, 2).text.empty());
    CHECK(judge_ras({{.problem = "nobody listens"}}, {}, 2).text == "no evidence: nobody listens");
    CHECK(judge_ras({{.problem = "nobody listens"}, {.version = "2.30.7"}}, {}, 2).text ==
          "all ranks have launched the same");
}

TEST_CASE("text of 2.24 has one count of all operations; who has launched none is behind") {
    const auto status =
        text("NCCL version 2.24.3 compiled with CUDA 12.8\n\nErrors\n======\n\n"
             "#0-0 (1f3c6a9e22d04b71) MISMATCH\n"
             "  Communicator ranks have different collective operation counts\n"
             "  7 ranks have launched up to operation 1204\n"
             "  Rank 6 has not launched any operations -- GPU 2 managed by process 411 on node 10.0.0.2\n"
             "  Rank 5 has launched up to operation 1205 -- GPU 1 managed by process 410 on node 10.0.0.2\n"
             "#0-1 (2f3c6a9e22d04b71) ERROR\n"
             "  Asynchronous error on 1 rank\n"
             "  Rank 5 reported Unhandled CUDA error -- GPU 1 managed by process 410 on node 10.0.0.2\n");
    REQUIRE(status.ranks.size() == 3);
    CHECK(status.ranks[0].kind == Found::behind);
    CHECK(status.ranks[0].rank == 6);
    CHECK(status.ranks[0].count == 0);
    CHECK(status.ranks[0].most == 1204);
    CHECK(status.ranks[0].operation.empty());
    CHECK(status.ranks[0].host == "10.0.0.2");
    CHECK(status.ranks[1].kind == Found::ahead);
    CHECK(status.ranks[2].kind == Found::failed);
    CHECK(status.ranks[2].operation == "Unhandled CUDA error");
}

TEST_CASE("what is no answer of RAS is an error") {
    for (const auto* said :
         {"", "{", "[]", "{}", "HTTP/1.1 400 Bad Request", "ERROR: Unknown command SET FORMAT json"}) {
        CHECK_FALSE(read_ras_json(said).has_value());
        CHECK_FALSE(read_ras_text(said).has_value());
    }
    CHECK(read_ras_json(std::string(most_ras_bytes + 1, ' ')).error().message ==
          "an answer of RAS of more than 64 MiB");
    CHECK(json(R"({"communicators":[3,[],{"ranks":[7,{"pid":-1,"rank":1e9}]}]})").ranks.empty());
}

} // namespace ras_test
