#include "shared/diagnosis/flight_recorder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace flight_recorder_test {

using namespace dockdist;
using namespace std::string_literals;
using Kind = HangVerdict::Kind;

namespace {

constexpr std::int64_t long_after_ns =
    4'000'000'000'000'000'000; // whenever it was launched, it waits for long

std::string file(const std::string& path) {
    std::ifstream stream(std::string(DOCKDIST_SOURCE_DIR) + "/tests/" + path, std::ios::binary);
    REQUIRE_MESSAGE(stream.good(), "no " << path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

struct Job {
    std::vector<wire::FlightRecord> records{};

    Evidence judge() const {
        std::vector<RankFlight> ranks;
        for (std::size_t rank = 0; rank < records.size(); ++rank) {
            ranks.push_back({static_cast<int>(rank), &records[rank]});
        }
        return judge_flight(ranks);
    }
};

Job recorded(const std::string& path, int ranks, const std::string& end = "") {
    Job job;
    for (int rank = 0; rank < ranks; ++rank) {
        auto record = read_flight_dump(file(path + std::to_string(rank) + end), long_after_ns);
        REQUIRE(record.has_value());
        job.records.push_back(std::move(*record));
    }
    return job;
}

// As one of default_pg's ranks that waits in its `sequence`-th collective.
wire::FlightRecord waiting(std::int64_t sequence, const std::string& name = "nccl:all_reduce",
                           std::int64_t elements = 4, const std::string& group = "0") {
    return {.version = "2.10",
            .groups = {{.name = group,
                        .description = group == "0" ? "default_pg" : "undefined",
                        .ranks = {0, 1, 2},
                        .enqueued = sequence,
                        .completed = sequence - 1,
                        .waits = true,
                        .first = {.record = sequence,
                                  .sequence = sequence,
                                  .name = name,
                                  .state = "scheduled",
                                  .sizes = "[[" + std::to_string(elements) + "]] Float",
                                  .elements = elements,
                                  .waits_ms = 60000,
                                  .frame = {"step", "/w/train.py", 12}}}}};
}

wire::FlightRecord done_up_to(std::int64_t sequence) {
    return {
        .version = "2.10",
        .groups = {{.name = "0", .description = "default_pg", .enqueued = sequence, .completed = sequence}}};
}

} // namespace

TEST_CASE("real jobs whose ranks hold the GIL: they have launched nothing that others wait for") {
    const std::string folder = "unit/diagnosis/recorded/flight_recorder/";
    const auto first = recorded(folder + "lock_gil_1st/_dump_", 16).judge();
    CHECK(first.kind == Kind::behind);
    CHECK(first.ranks == std::vector{9, 14});
    CHECK(first.text ==
          "ranks 9 and 14 have not launched nccl:all_to_all #45265 of EXPERT_MODEL_PARALLEL_GROUP, and "
          "14 others wait");
    const auto second = recorded(folder + "lock_gil_2nd/_dump_", 16).judge();
    CHECK(second.kind == Kind::behind);
    CHECK(second.ranks == std::vector{10, 15});
}

TEST_CASE("a real job with GPU errors: these GPUs have not done what their peers' have") {
    const auto verdict = recorded("unit/diagnosis/recorded/flight_recorder/gpu_error_1st/_dump_", 16).judge();
    CHECK(verdict.kind == Kind::behind);
    CHECK(verdict.ranks == std::vector{12, 14});
    CHECK(verdict.text == "ranks 12 and 14 have not finished nccl:_all_gather_base #42806 of "
                          "TENSOR_MODEL_PARALLEL_GROUP, which its peers have");
    CHECK(verdict.hint.find("Xid") != std::string::npos);
}

TEST_CASE("a real job that uses two groups in different orders: a circle, with both lines of code") {
    const auto job = recorded("gpu_day/recordings/h200/recorder/timeout-", 2, ".pickle");
    CHECK(job.records[0].version == "2.10");
    REQUIRE(job.records[0].groups.size() == 2);
    CHECK(job.records[0].groups[0].enqueued == 91);
    CHECK(job.records[0].groups[0].first.frame.function == "reduce_gradients");
    CHECK(job.records[0].groups[0].first.sizes == "[[16384]] Float -> [[16384]] Float");
    CHECK(job.records[0].groups[0].first.elements == 16384);
    CHECK_FALSE(job.records[0].groups[1].waits);
    const auto verdict = job.judge();
    CHECK(verdict.kind == Kind::mismatch);
    CHECK(verdict.ranks == std::vector{0, 1});
    CHECK(verdict.text == "rank 0 waits for rank 1 in nccl:all_reduce #91 of default_pg, in reduce_gradients "
                          "(collectives.py:44), and that one waits in nccl:all_reduce #91 of group 1, in "
                          "reduce_metrics (collectives.py:48)");
}

TEST_CASE("how long it waits is from its launch to the dump") {
    const auto bytes = file("gpu_day/recordings/h200/recorder/timeout-0.pickle");
    const auto at = [&](std::int64_t after_ns) {
        return read_flight_dump(bytes, 1795786109296948626 + after_ns)->groups[0].first.waits_ms;
    };
    CHECK(at(12'345'000'000) == 12345);
    CHECK(at(-1) == 0);
}

TEST_CASE("a rank with fewer launches than those that wait is behind; one that answers nobody is") {
    const Job behind{{waiting(7), done_up_to(6), waiting(7)}};
    CHECK(behind.judge().ranks == std::vector{1});
    CHECK(
        behind.judge().text ==
        "rank 1 has not launched nccl:all_reduce #7 of default_pg, and 2 others wait, in step (train.py:12)");
    const Job silent{{waiting(7), {.problem = "p", .silent = true}, waiting(7)}};
    CHECK(silent.judge().ranks == std::vector{1});
    CHECK(silent.judge().text == "rank 1 does not answer it, and 2 others wait, in step (train.py:12)");
    CHECK(silent.judge().hint == "it is stopped, or something in it holds Python's GIL");
}

TEST_CASE("different collectives, or sizes, at one place: the fewer are named") {
    const Job names{{waiting(7), waiting(7, "nccl:broadcast"), waiting(7)}};
    CHECK(names.judge().kind == Kind::mismatch);
    CHECK(names.judge().ranks == std::vector{1});
    CHECK(names.judge().text ==
          "rank 1 calls nccl:broadcast #7 of default_pg with [[4]] Float, in step (train.py:12), "
          "others nccl:all_reduce with [[4]] Float, in step (train.py:12)");
    const Job sizes{{waiting(7), waiting(7), waiting(7, "nccl:all_reduce", 5)}};
    CHECK(sizes.judge().ranks == std::vector{2});
    const Job uneven{
        {waiting(7, "nccl:all_to_all"), waiting(7, "nccl:all_to_all", 5), waiting(7, "nccl:all_to_all")}};
    CHECK(uneven.judge().kind == Kind::same_collective);
    const Job even{{waiting(7, "nccl:_reduce_scatter_base"), waiting(7, "nccl:_reduce_scatter_base", 5)}};
    CHECK(even.judge().kind == Kind::mismatch);
}

TEST_CASE("all wait in the same: GPUs or the network") {
    const Job same{{waiting(7), waiting(7), waiting(7)}};
    CHECK(same.judge().kind == Kind::same_collective);
    CHECK(same.judge().ranks.empty());
    CHECK(same.judge().text == "all ranks have launched nccl:all_reduce #7 of default_pg, in step "
                               "(train.py:12), and it is done on none");
}

TEST_CASE("without a reason there is no verdict") {
    CHECK(Job{}.judge().kind == Kind::none);
    auto young = waiting(7);
    young.groups[0].first.waits_ms = 9999;
    CHECK(Job{{young, done_up_to(6)}}.judge().kind == Kind::none);
    CHECK(Job{{waiting(7), waiting(7), {.problem = "not asked"}}}.judge().kind ==
          Kind::none); // nothing of rank 2
    CHECK(Job{{waiting(7), done_up_to(7), waiting(7)}}.judge().ranks ==
          std::vector{0, 2}); // the peer has done it
}

TEST_CASE("sends and receives are waited for by their partner alone, and their counts say nothing of him") {
    auto receives = waiting(7, "nccl:recv 0<-2");
    receives.groups[0].first.p2p = true;
    const Job partner{{receives, waiting(3), {.version = "2.10"}}};
    CHECK(partner.judge().ranks == std::vector{2});
    const Job other{{receives, done_up_to(2), waiting(3)}};
    CHECK(other.judge().ranks == std::vector{1}); // for whom rank 2 waits
}

TEST_CASE("what is no dump is an error, and what it lacks is not there") {
    CHECK(read_flight_dump("x", 0).error().message == "a pickle: unknown opcode 120");
    CHECK(read_flight_dump("}.", 0).error().message == "a flight recorder's dump without a version");
    const auto bare = read_flight_dump("}X\x07\0\0\0versionX\x03\0\0\0"
                                       "2.4s."s,
                                       0);
    REQUIRE(bare.has_value());
    CHECK(bare->version == "2.4");
    CHECK(bare->groups.empty());
}

} // namespace flight_recorder_test
