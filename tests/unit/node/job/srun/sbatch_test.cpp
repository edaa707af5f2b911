#include "node/job/srun/sbatch.hpp"
#include "node/session/batch_script.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace sbatch_test {

using namespace dockdist;
using namespace dockdist::node;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

namespace {

const std::filesystem::path scripts = std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/node/job/srun/sbatch";

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Four machines of eight GPUs.
std::vector<SrunNode> machines() {
    std::vector<SrunNode> nodes;
    for (int i = 0; i < 4; ++i) {
        nodes.push_back({.name = "node-" + std::to_string(i),
                         .address = "10.0.0." + std::to_string(i + 1),
                         .slots = 8,
                         .gpus_there = 8});
    }
    return nodes;
}

struct Read {
    Variables variables{};
    Words remarks{};
    std::string error{};
};

Read read_script(const std::string& text, const Words& typed = {}) {
    auto options = parse_sbatch(typed, batch_lines(text));
    if (!options) {
        return {.error = options.error().message};
    }
    const auto nodes = lay_out_batch(*options, machines());
    if (!nodes) {
        return {.error = nodes.error().message};
    }
    const BatchJob job{
        .id = "4711", .script = "/work/train.sbatch", .folder = "/work", .host = "node-0", .cpus = 96};
    return {.variables = batch_variables(*options, *nodes, job), .remarks = options->remarks};
}

} // namespace

// Modelled on scripts that people publish for Lightning, accelerate, Megatron, NeMo, Ray, DeepSpeed and
// torchrun. `#>` in them is what the script sees; nothing after the = means that it is not set. `#!` is what
// is said of it.
TEST_CASE("scripts for sbatch are read as Slurm reads them") {
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(scripts)) {
        files.insert(entry.path());
    }
    REQUIRE(files.size() == 20);
    for (const auto& file : files) {
        CAPTURE(file.filename().string());
        const auto text = text_of(file);
        const auto read = read_script(text);
        CHECK(read.error.empty());
        Words remarks;
        bool promised = false;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("#! ")) {
                remarks.push_back(line.substr(3));
            } else if (line.starts_with("#> ")) {
                promised = true;
                std::istringstream pairs(line.substr(3));
                for (std::string pair; pairs >> pair;) {
                    const auto name = pair.substr(0, pair.find('='));
                    const auto found = read.variables.find(name);
                    CHECK(name + "=" + (found == read.variables.end() ? "" : found->second) == pair);
                }
            }
        }
        CHECK(promised);
        CHECK(read.remarks == remarks);
        for (const auto* name :
             {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_NNODES",
              "SLURM_JOB_NUM_NODES", "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_SUBMIT_DIR",
              "SLURM_JOB_NAME", "SLURMD_NODENAME"}) {
            CHECK_FALSE(read.variables.at(name).empty());
        }
    }
    CHECK(read_script(text_of(scripts / "windows-line-ends.sbatch")).variables.at("SLURM_JOB_NAME") ==
          "two words");
}

TEST_CASE("the command line goes before the script's lines") {
    const auto read =
        read_script("#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=8 -J mine\n", {"-N4", "-J", "other"});
    CHECK(read.variables.at("SLURM_NNODES") == "4");
    CHECK(read.variables.at("SLURM_NTASKS") == "32");
    CHECK(read.variables.at("SLURM_JOB_NAME") == "other");
}

TEST_CASE("what cannot be had, and what is no option, is an error with its line") {
    const auto error = [](const std::string& line) {
        return read_script("#!/bin/sh\n\n#SBATCH " + line + "\n").error;
    };
    CHECK(error("--nodes=5") == "Requested node configuration is not available: 5 nodes of node-[0-3]");
    CHECK(error("--gpus-per-node=16") ==
          "Requested node configuration is not available: 16 GPUs of node-0, and there are 8");
    CHECK(error("-N2 --ntasks-per-node=9").starts_with("More processors requested than permitted: 18 tasks"));
    CHECK(error("nodes=2") == "line 3: Invalid directive found in batch script: nodes=2");
    CHECK(error("--nodes=") == "line 3: invalid number of nodes (-N )");
    CHECK(error("--nodes={{ nodes }}") == "line 3: invalid number of nodes (-N {{)");
    CHECK(error("--het-group=1") == "line 3: --het-group is not known to dockdist's srun and sbatch");
}

TEST_CASE("which command lines run a batch script") {
    const auto at = [](const Words& command) { return find_batch_script(command, scripts.string()); };
    CHECK(at({"bash", "gpus-alone.sbatch"}) == 1);
    CHECK(at({"/bin/bash", "-x", "-e", "gpus-alone.sbatch", "-c"}) == 3);
    CHECK(at({"bash", "-xo", "pipefail", "gpus-alone.sbatch"}) == 3);
    CHECK(at({"sh", "--", "gpus-alone.sbatch"}) == 2);
    CHECK(at({"./gpus-alone.sbatch", "x"}) == 0);
    CHECK(at({(scripts / "gpus-alone.sbatch").string()}) == 0);
    CHECK_FALSE(at({"gpus-alone.sbatch"})); // not a path: PATH is looked through for it
    CHECK_FALSE(at({"bash", "-c", "gpus-alone.sbatch"}));
    CHECK_FALSE(at({"bash", "-lc", "gpus-alone.sbatch"}));
    CHECK_FALSE(at({"bash", "-s", "gpus-alone.sbatch"}));
    CHECK_FALSE(at({"python", "gpus-alone.sbatch"}));
    CHECK_FALSE(at({"bash", "../sbatch_test.cpp"}));
    CHECK_FALSE(at({"bash", "no-such.sbatch"}));
    CHECK_FALSE(at({"bash", "."}));
    CHECK_FALSE(at({"bash"}));
    CHECK_FALSE(at({}));
}

} // namespace sbatch_test
