#include "client/check/fabric_row.hpp"
#include "client/check/gpu_rows.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace fabric_row_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

constexpr const char* rack =
    "        State       : Completed\n        Status      : Success\n"
    "        CliqueId    : 1\n        ClusterUUID : 67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11\n";

CheckedNode with_fabric(const std::string& section, int channels_code = 2, const std::string& channels = "") {
    auto node = facts_of(0);
    const auto questions = fabric_questions();
    node.facts.programs.insert_or_assign(questions.at(0).name,
                                         wire::ProgramOutput{0, "GPU 0\n    Fabric\n" + section});
    node.facts.programs.insert_or_assign(questions.at(1).name, wire::ProgramOutput{channels_code, channels});
    return node;
}

} // namespace

TEST_CASE("nothing is said of GPUs without a fabric, and of drivers that do not tell") {
    CHECK_FALSE(judge_fabric(facts_of(0)).has_value());
    CHECK_FALSE(judge_fabric(with_fabric("        State : N/A\n")).has_value());
    auto old = with_fabric(rack);
    old.facts.programs.insert_or_assign(fabric_questions().at(0).name, wire::ProgramOutput{2, "Invalid"});
    CHECK_FALSE(judge_fabric(old).has_value());
    CHECK(fabric_questions().at(1).argv == std::vector<std::string>{"/opt/dockdist/libexec/rsync",
                                                                    "--list-only",
                                                                    "/dev/nvidia-caps-imex-channels/"});
}

TEST_CASE("a fabric within the host") {
    const auto row = judge_fabric(with_fabric("        State : Completed\n        Status : Success\n"));
    REQUIRE(row.has_value());
    CHECK(row->state == State::pass);
    CHECK(row->text == "NVLink within the host is ready");
}

TEST_CASE("a fabric that is not ready, or has failed") {
    const auto waits = judge_fabric(with_fabric("        State : In Progress\n        Status : N/A\n"));
    CHECK(waits->state == State::fail);
    CHECK(waits->text == "the GPUs' NVLink fabric is not ready: In Progress");
    CHECK(waits->hint.find("nvidia-fabricmanager") != std::string::npos);
    const auto failed =
        judge_fabric(with_fabric("        State : Completed\n        Status : \x1b[2J Error\n"));
    CHECK(failed->state == State::fail);
    CHECK(failed->text == "the GPUs' NVLink fabric is not ready: \\x1b[2J Error");
}

TEST_CASE("a fabric that leads to other hosts needs the IMEX channel") {
    const auto lacks = judge_fabric(with_fabric(rack));
    CHECK(lacks->state == State::warn);
    CHECK(
        lacks->text ==
        "NVLink leads to other hosts (clique 1 of 67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11), and the node has no "
        "/dev/nvidia-caps-imex-channels/channel0: NCCL goes there over the network");
    CHECK(lacks->hint.find("NVreg_CreateImexChannel0=1") != std::string::npos);
    CHECK(lacks->hint.find("Hosts with x86 CPUs, and a file with `container.devices`, get it only where it "
                           "is named there") != std::string::npos);
    const auto has = judge_fabric(with_fabric(rack, 0, "crw-rw-rw-              0 2026/11/25 channel0\n"));
    CHECK(has->state == State::pass);
    CHECK(has->text ==
          "NVLink to other hosts (clique 1 of 67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11), with its IMEX "
          "channel");
    CHECK(rows_of(judge_gpus({with_fabric(rack)}, {NodeSpec{}}).rows, "fabric").size() == 1);
}

} // namespace fabric_row_test
