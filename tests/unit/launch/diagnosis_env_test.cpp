#include "shared/launch/diagnosis_env.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace diagnosis_env_test {

using namespace dockdist;

namespace {

std::map<std::string, std::string> defaults(const std::string& launcher, std::vector<std::string> command,
                                            bool per_rank = false) {
    const LaunchRequest request{.job = JobId("j"),
                                .command = std::move(command),
                                .nodes = {{.name = NodeName("n"),
                                           .address = "10.0.0.1",
                                           .versions = {{"torch", "2.6"}, {"python", "3.11"}}}},
                                .per_rank = per_rank,
                                .ports = {Port{20000}}};
    const auto launches = launch_job(find_launcher(launcher).value(), request);
    REQUIRE(launches.has_value());
    return launches->front().start.env_defaults;
}

} // namespace

TEST_CASE("ranks that may be torch's record their collectives, in the job's own folder, under both names") {
    const auto told = defaults("torchrun", {"train.py"});
    const auto folder = wire::job_scratch("j");
    CHECK(told ==
          std::map<std::string, std::string>{{"NCCL_RAS_ADDR", "127.0.0.1:" + std::string(wire::own_port)},
                                             {"TORCH_FR_BUFFER_SIZE", "2000"},
                                             {"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"},
                                             {"TORCH_FR_DUMP_TEMP_FILE", folder + "/fr_"},
                                             {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", folder + "/fr_"},
                                             {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", folder + "/frp_"},
                                             {"TORCH_FR_DUMP_ON_TIMEOUT", "1"},
                                             {"TORCH_NCCL_DUMP_ON_TIMEOUT", "1"}});
}

TEST_CASE(
    "what is started plainly may be a server, and records nothing, but for a launch line of the user's own") {
    const auto records = [](const std::map<std::string, std::string>& told) {
        CHECK(told.contains("NCCL_RAS_ADDR"));
        return told.contains("TORCH_FR_BUFFER_SIZE");
    };
    CHECK_FALSE(records(defaults("plain", {"vllm", "serve"})));
    CHECK(records(defaults("plain", {"train"}, true)));
    CHECK(records(defaults("plain", {"torchrun", "--nproc_per_node=2", "train.py"})));
    CHECK_FALSE(records(defaults("jax", {"train.py"})));
    CHECK(records(defaults("slurm", {"train.py"})));
}

TEST_CASE("each of two spellings leads to the other one") {
    CHECK(other_spelling("TORCH_FR_BUFFER_SIZE") == "TORCH_NCCL_TRACE_BUFFER_SIZE");
    CHECK(other_spelling("TORCH_NCCL_TRACE_BUFFER_SIZE") == "TORCH_FR_BUFFER_SIZE");
    CHECK(other_spelling("NCCL_RAS_ADDR").empty());
}

} // namespace diagnosis_env_test
