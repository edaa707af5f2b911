#include "node/session/job_part.hpp"
#include "node/system/environment.hpp"
#include "node/system/gpus.hpp"
#include "node/system/oom.hpp"

#include <doctest/doctest.h>

namespace environment_test {

using namespace dockdist;
using namespace dockdist::node;
using namespace std::string_literals;

TEST_CASE("an environment's bytes survive, names without a value too") {
    const auto block = "A=1\0B=x\ny=z\0C=\0no-equals\0\xFF=\xFE\0"s;
    CHECK(Environment::from_block(block).block() == block);
}

TEST_CASE("set replaces, set_default does not, unset removes") {
    auto environment = Environment::from_block("A=1\0AB=2\0"s);
    environment.set("A", "x");
    environment.set_default("AB", "y");
    environment.set_default("C", "z");
    CHECK(environment.block() == "A=x\0AB=2\0C=z\0"s);
    environment.unset("A");
    CHECK(environment.get("A").has_value() == false);
    CHECK(environment.get("AB") == "2");
}

TEST_CASE("the toolkit stands first in PATH, once") {
    CHECK(with_toolkit_first("/usr/bin:/bin") == "/opt/dockdist/bin:/usr/bin:/bin");
    CHECK(with_toolkit_first("/usr/bin:/opt/dockdist/bin") == "/usr/bin:/opt/dockdist/bin");
    CHECK(with_toolkit_first("") == "/opt/dockdist/bin");
}

TEST_CASE("a job's variables travel through one printable line") {
    const std::map<std::string, std::string> variables{
        {"A", "x y%\n"}, {"WANDB_KEY", "\xFF\"'"}, {"EMPTY", ""}};
    const auto packed = pack_variables(variables, {"GONE"});
    REQUIRE(packed.has_value());
    for (const char c : *packed) {
        CHECK(static_cast<unsigned char>(c) >= ' ');
        CHECK(static_cast<unsigned char>(c) < 0x7F);
    }
    auto environment = Environment::from_block("GONE=1\0A=old\0"s);
    apply_packed(environment, *packed);
    for (const auto& [name, value] : variables) {
        CHECK(environment.get(name) == value);
    }
    CHECK_FALSE(environment.get("GONE").has_value());
}

TEST_CASE("more variables than one may hold do not travel") {
    CHECK_FALSE(pack_variables({{"A", std::string(200000, 'x')}}, {}).has_value());
}

TEST_CASE("a packed line from elsewhere cannot break anything") {
    auto environment = Environment::from_block("A=1\0"s);
    for (const auto* packed : {"", "%", "%4", "%ZZ=1", "=x", " ", "-", "A"}) {
        apply_packed(environment, packed);
    }
    CHECK(environment.get("A") == "1");
}

TEST_CASE("a packed value brings no further variable behind a NUL") {
    auto environment = Environment::from_block("A=1\0"s);
    apply_packed(environment, "B=x%00LD_PRELOAD=y -A%00 C=2");
    CHECK(environment.block() == "A=1\0C=2\0"s);
}

TEST_CASE("a job's own variables win, what it drops is gone, and its mark is set") {
    const JobPart part{
        .job = "j", .env = {{"A", "job"}, {"PATH", "/x"}, {"GONE", "job"}}, .unset = {"B", "GONE"}};
    const Account account{.name = "alice", .uid = 1000, .home = "/home/alice", .shell = "/bin/sh"};
    const auto environment =
        job_environment(Environment::from_block("A=container\0B=1\0HOME=/root\0C=\0"s), part, account);
    CHECK(environment.get("A") == "job");
    CHECK_FALSE(environment.get("B").has_value());
    CHECK_FALSE(environment.get("GONE").has_value());
    CHECK(environment.get("C") == "");
    CHECK(environment.get("HOME") == "/home/alice");
    CHECK(environment.get("PATH") == "/opt/dockdist/bin:/x");
    CHECK(environment.get("DOCKDIST_JOB") == "j");
}

TEST_CASE("variables that are too many to travel leave none of another job behind") {
    auto environment = Environment::from_block("DOCKDIST_JOB_ENV=OLD=1\0"s);
    apply_part(environment, {.job = "j", .env = {{"A", std::string(200000, 'x')}}});
    CHECK_FALSE(environment.get("DOCKDIST_JOB_ENV").has_value());
}

TEST_CASE("without nvidia-smi GPUs are counted by their device files") {
    CHECK(count_gpu_devices({"nvidia0", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia", "null"}) == 2);
}

TEST_CASE("the kernel's count of processes killed for want of memory") {
    CHECK(parse_oom_kills("low 0\nhigh 0\nmax 5\noom 2\noom_kill 3\noom_group_kill 1\n") == 3);
    CHECK(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n") == 4);
    CHECK(parse_oom_kills("") == -1);
}

} // namespace environment_test
