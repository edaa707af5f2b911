#include "shared/wire/job.hpp"
#include "shared/wire/job_usage.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace job_usage_test {

using namespace dockdist::wire;

TEST_CASE("a history is read as it was written, with its gaps") {
    const JobHistory history{
        .started_ms = 1772300000000,
        .step_ms = 2000,
        .curves = {
            {.figure = Figure::gpu_power,
             .gpu = 3,
             .points = {CurvePoint{.least = 70.5, .mean = 71.3, .most = 700}, std::nullopt,
                        CurvePoint{.least = 1, .mean = 2, .most = 3}}},
            {.figure = Figure::cpu, .points = {CurvePoint{.least = 0.25, .mean = 0.25, .most = 0.25}}}}};
    const auto line = job_history_line(history);
    CHECK(line.find("71.3,null,2") != std::string::npos);
    CHECK(line.find("\"least\":[0.25]") == std::string::npos); // where it is what the mean is
    const auto read = parse_job_history(line);
    REQUIRE(read.has_value());
    CHECK(*read == history);
}

TEST_CASE("a history of a later version loses what nobody knows, and what is beyond all bounds is refused") {
    const auto later = parse_job_history(
        R"({"step_ms":1000,"curves":[{"figure":"gpu_dreams","mean":[1]},{"figure":"cpu_cores","mean":[1,2]}]})");
    REQUIRE(later.has_value());
    CHECK(later->curves.size() == 1);
    for (const auto* bad : {
             R"({"step_ms":0})",
             R"({"curves":[{"figure":"cpu_cores","mean":["x"]}]})",
             R"({"curves":[{"figure":"cpu_cores","mean":[1e300]}]})",
             R"({"curves":[{"figure":"cpu_cores","mean":[1,2],"least":[1]}]})",
             R"({"curves":[{"figure":"gpu_power_w","gpu":5000,"mean":[1]}]})",
             R"({"curves":[{"mean":[1]}]})",
             R"({"curves":7})",
             "[]",
         }) {
        CHECK_MESSAGE(!parse_job_history(bad).has_value(), bad);
    }
    std::string long_curve = R"({"curves":[{"figure":"cpu_cores","mean":[1)";
    for (std::size_t i = 0; i < most_curve_points; ++i) {
        long_curve += ",1";
    }
    CHECK_FALSE(parse_job_history(long_curve + "]}]}").has_value());
}

TEST_CASE("a job's result bears what it has used of the node") {
    JobResult result{.code = 7};
    result.usage = {
        .gpus = 2,
        .duration_ms = 5000,
        .host = "3b8c7a52-5b0a-4c57-a2f8-6f2d8d0f3a11 net:[4026531840]",
        .figures =
            {{.figure = Figure::gpu_utilization, .mean = 87.25, .peak = 99.5, .seconds = 9.5, .peak_gpu = 1},
             {.figure = Figure::memory, .mean = 8192, .peak = 8192, .seconds = 5}},
        .findings = {{.gpu = 3, .for_ms = 72'000, .about = "102 W of 700 W"},
                     {.kind = Finding::Kind::disk_full, .disk = "/", .about = "1 GiB left"},
                     {.kind = Finding::Kind::memory_grows, .rank = 0, .about = "1.0 GiB more"},
                     {.kind = Finding::Kind::idle, .for_ms = 1'900'000}}};
    const auto text = nlohmann::json(result).dump();
    const auto read = parse_job_result(text);
    REQUIRE(read.has_value());
    CHECK(read->usage == result.usage);
    const auto without = parse_job_result(R"({"usage":{"duration_ms":1}})"); // of an earlier dockdist
    REQUIRE(without.has_value());
    CHECK(without->usage.host.empty());
    CHECK_FALSE(parse_job_result(R"({"usage":{"host":")" + std::string(longest_host_mark + 1, 'x') + R"("}})")
                    .has_value());
    CHECK_FALSE(parse_job_result(R"({"usage":{"host":7}})").has_value());
    CHECK(nlohmann::json(JobResult{}).contains("usage") == false);
    CHECK_FALSE(
        parse_job_result(R"({"usage":{"figures":[{"figure":"cpu_cores","mean":1,"peak":1,"seconds":-1}]}})")
            .has_value());
    CHECK_FALSE(parse_job_result(R"({"usage":{"figures":[{"figure":"cpu_cores"},{"figure":"cpu_cores"}]}})")
                    .has_value());
}

TEST_CASE("what was found is bounded, and what a later version finds is passed over") {
    const auto later = parse_job_result(
        R"({"usage":{"duration_ms":1,"findings":[{"kind":"dreams","gpu":"x"},{"kind":"thermal","gpu":1}]}})");
    REQUIRE(later.has_value());
    REQUIRE(later->usage.findings.size() == 1);
    CHECK(later->usage.findings[0].kind == Finding::Kind::thermal);
    for (const std::string& bad :
         {std::string(R"({})"), std::string(R"({"kind":"thermal","gpu":-2})"),
          std::string(R"({"kind":"thermal","for_ms":-1})"), std::string(R"({"kind":"thermal","rank":1e9})"),
          R"({"kind":"thermal","about":")" + std::string(300, 'x') + R"("})"}) {
        CHECK_MESSAGE(!parse_job_result(R"({"usage":{"findings":[)" + bad + "]}}").has_value(), bad);
    }
    JobResult many;
    many.usage = {.duration_ms = 1, .findings = std::vector<Finding>(most_kept_findings)};
    CHECK(parse_job_result(nlohmann::json(many).dump()).has_value());
    many.usage.findings.emplace_back();
    CHECK_FALSE(parse_job_result(nlohmann::json(many).dump()).has_value());
}

} // namespace job_usage_test
