#include "shared/wire/sample.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace sample_test {

using namespace dockdist;
using namespace dockdist::wire;

namespace {

SampleFacts facts() {
    SampleFacts facts{.cpus = 192, .memory_bytes = 2ULL << 40U, .driver = "550.127.08"};
    for (int i = 0; i < 8; ++i) {
        facts.gpus.push_back({.index = i,
                              .uuid = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a7" + std::to_string(i),
                              .name = "NVIDIA H100 80GB HBM3",
                              .memory_bytes = 81559ULL << 20U,
                              .power_limit_w = 700,
                              .most_clock_mhz = 1980});
    }
    facts.gpus[7].instances = {"MIG-1", "MIG-2"};
    facts.disks = {{.path = "/", .size_bytes = 1ULL << 40U}, {.path = "/dev/shm"}};
    facts.network = {"ens1f0", "ens1f1"};
    facts.rdma = {"mlx5_0/1", "mlx5_1/1", "mlx5_2/1", "mlx5_3/1",
                  "mlx5_4/1", "mlx5_5/1", "mlx5_6/1", "mlx5_7/1"};
    return facts;
}

Sample sample() {
    constexpr std::uint64_t much = 12'345'678'901'234;
    Sample sample{.at_ms = 1'795'465'938'523,
                  .clock_ms = 86'400'123,
                  .cpu_ms = 1'234'567'890,
                  .memory_bytes = 987'654'321'098,
                  .disk_read = much,
                  .disk_written = much + 1,
                  .disk_bytes = {much, std::nullopt}};
    sample.network.assign(2, {.received = much, .sent = much});
    sample.rdma.assign(8, {.received = much, .sent = much});
    for (int i = 0; i < 8; ++i) {
        sample.gpus.push_back({.utilization_percent = 100,
                               .memory_bytes = 72345ULL << 20U,
                               .power_w = 612.3,
                               .temperature_c = 61,
                               .clock_mhz = 1980,
                               .throttle = 4});
        sample.ranks.push_back({.job = "job-1a2b3c4d",
                                .rank = 8 + i,
                                .pid = 123456 + i,
                                .cpu_ms = 12'345'678,
                                .memory_bytes = 123'456'789'012,
                                .gpus = {i}});
    }
    sample.gpus[3] = {};
    sample.ranks.push_back({.job = "job-1a2b3c4d", .rank = -1, .pid = 9, .cpu_ms = 10, .memory_bytes = 1});
    return sample;
}

SampleReader reader_of(const SampleFacts& known) {
    SampleReader reader;
    REQUIRE(reader.hear(facts_line(known)).has_value());
    return reader;
}

std::string refusal(const std::string& line) {
    auto reader = reader_of(facts());
    const auto heard = reader.hear(line);
    return heard ? "" : heard.error().message;
}

} // namespace

TEST_CASE("facts and samples are read as they were written") {
    auto reader = reader_of(facts());
    CHECK(reader.facts() == facts());
    const auto heard = reader.hear(sample_line(sample()));
    REQUIRE(heard.has_value());
    REQUIRE(heard->has_value());
    CHECK(**heard == sample());
    Sample least{.clock_ms = 1, .disk_bytes = {std::nullopt, std::nullopt}};
    least.network.resize(2);
    least.rdma.resize(8);
    const auto little = reader.hear(sample_line(least));
    REQUIRE(little.has_value());
    CHECK(**little == least);
}

TEST_CASE("64 nodes of eight GPUs and eight ranks send at most 200 KB a second") {
    const auto bytes = sample_line(sample()).size();
    MESSAGE("a sample of 8 GPUs, 8 ranks, 8 RDMA ports takes " << bytes << " bytes, of 64 nodes "
                                                               << 64 * bytes);
    CHECK(64 * bytes <= 200'000);
}

TEST_CASE("what is absent is null and never 0") {
    auto some = sample();
    some.cpu_ms.reset();
    CHECK(sample_line(some).find("\"cpu_ms\":null") != std::string::npos);
    CHECK(sample_line(some).find("\"power_w\":[612.3,612.3,612.3,null,") != std::string::npos);
}

TEST_CASE("a sample that is not of its facts is refused") {
    auto some = sample();
    some.gpus.pop_back();
    CHECK(refusal(sample_line(some)).find("is not of 8") != std::string::npos);
    some = sample();
    some.network.pop_back();
    CHECK(refusal(sample_line(some)).find("is not of 2") != std::string::npos);
    SampleReader nobody;
    CHECK(nobody.hear(sample_line(sample())).has_error());
}

TEST_CASE("what a hostile node says is bounded") {
    CHECK_FALSE(refusal("[]").empty());
    CHECK_FALSE(refusal(R"({"sample":{}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":-1}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"cpu_ms":-5}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"memory_bytes":18446744073709551615}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"gpus":{"power_w":[1e300,0,0,0,0,0,0,0]}}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"ranks":{"rank":[1]}}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"ranks":{"job":["a"],"rank":[-2]}}})").empty());
    CHECK_FALSE(refusal(R"({"sample":{"clock_ms":1,"ranks":{"job":["a"],"gpus":[[-1]]}}})").empty());
    CHECK_FALSE(
        refusal(R"({"sample":{"clock_ms":1,"ranks":{"job":[")" + std::string(300, 'x') + R"("]}}})").empty());
    CHECK_FALSE(refusal(R"({"facts":{"interval_ms":0}})").empty());
    CHECK_FALSE(refusal(R"({"facts":{"network":[1]}})").empty());
    CHECK_FALSE(refusal(R"({"facts":{"gpus":[{}]}})").empty());
    auto many = facts();
    many.network.assign(most_sampled_items + 1, "eth0"); // too many, before they are the same
    CHECK_FALSE(refusal(facts_line(many)).empty());
    for (const auto* twice :
         {R"({"gpus":[{"index":1},{"index":1}]})", R"({"disks":[{"path":"/"},{"path":"/"}]})",
          R"({"network":["eth0","eth0"]})", R"({"rdma":["mlx5_0/1","mlx5_0/1"]})"}) {
        CHECK_MESSAGE(refusal(std::string(R"({"facts":)") + twice + "}").find("twice") != std::string::npos,
                      twice);
    }
    CHECK(refusal(R"({"sample":{"clock_ms":1,"ranks":{"job":["a","a"],"rank":[2,2]}}})").find("twice") !=
          std::string::npos);
    CHECK(refusal(R"({"sample":{"clock_ms":1,"ranks":{"job":["a","b"],"rank":[2,2]}}})").empty());
    many = facts();
    many.gpus.resize(most_sampled_gpus + 1);
    CHECK_FALSE(refusal(facts_line(many)).empty());
    Sample ranks{.clock_ms = 1, .disk_bytes = {std::nullopt, std::nullopt}};
    ranks.network.resize(2);
    ranks.rdma.resize(8);
    ranks.ranks.resize(most_sampled_ranks + 1);
    CHECK_FALSE(refusal(sample_line(ranks)).empty());
}

TEST_CASE("a rank's GPUs that the facts do not have are left out") {
    auto reader = reader_of(facts());
    auto some = sample();
    some.ranks[0].gpus = {0, 63};
    CHECK((**reader.hear(sample_line(some))).ranks[0].gpus == std::vector{0});
}

TEST_CASE("later versions' lines and fields are passed over") {
    auto reader = reader_of(facts());
    const auto heard = reader.hear(R"({"news":{"x":1}})");
    REQUIRE(heard.has_value());
    CHECK_FALSE(heard->has_value());
}

} // namespace sample_test
