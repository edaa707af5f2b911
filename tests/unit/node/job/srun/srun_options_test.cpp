#include "node/job/srun/srun_options.hpp"

#include <doctest/doctest.h>

namespace srun_options_test {

using namespace dockdist;
using namespace dockdist::node;
using Words = std::vector<std::string>;

namespace {

SrunOptions parsed(const Words& arguments, const Environment& environment = {}) {
    auto options = parse_srun(arguments, environment);
    CAPTURE(options.has_error() ? options.error().message : "");
    REQUIRE(options.has_value());
    return *options;
}

// With what it ends: usage is 255 to srun, config is 1.
std::string refused(const Words& arguments) {
    const auto options = parse_srun(arguments, {});
    REQUIRE(options.has_error());
    return (options.error().kind == ErrorKind::usage ? "255 " : "1 ") + options.error().message;
}

} // namespace

TEST_CASE("the lines of tutorials are understood") {
    // BIGBALLON/distribuuuu, README.md and tutorial/mnmc_ddp_slurm.py
    auto options =
        parsed({"--partition=openai-a100", "-n", "64", "--gres=gpu:8", "--ntasks-per-node=8",
                "--job-name=Distribuuuu", "python", "-u", "train_net.py", "--cfg", "config/resnet18.yaml"});
    CHECK(options.tasks == 64);
    CHECK(options.gpus_per_node == 8);
    CHECK(options.tasks_per_node == 8);
    CHECK(options.job_name == "Distribuuuu");
    CHECK(options.command == Words{"python", "-u", "train_net.py", "--cfg", "config/resnet18.yaml"});
    CHECK(parsed({"--partition=openai", "-n8", "--gres=gpu:8", "x"}).tasks == 8);
    // pytorch/examples, distributed/ddp-tutorial-series/slurm/sbatch_run.sh
    options = parsed({"--nodes=1", "--ntasks=1", "-w", "node-0", "hostname", "--ip-address"});
    CHECK(options.nodes == 1);
    CHECK(options.tasks == 1);
    CHECK(options.node_list == "node-0");
    CHECK(options.command == Words{"hostname", "--ip-address"});
    CHECK_FALSE(parsed({"torchrun", "--nnodes", "4"}).tasks.has_value());
    // open-mmlab's, and those of many labs
    options = parsed({"-p", "VC", "--job-name=x", "--gres=gpu:2", "--ntasks=4", "--ntasks-per-node=2",
                      "--cpus-per-task=12", "--kill-on-bad-exit=1", "--quotatype=spot", "--async",
                      "--output=logs/x.out", "--mem=64G", "--cpu-bind=none", "-t", "1:00:00", "python"});
    CHECK(options.kill_on_bad_exit);
    CHECK(options.cpus_per_task == 12);
    CHECK(options.output == "logs/x.out");
    CHECK(options.remarks.empty());
}

TEST_CASE("short options, abbreviations and numbers of GPUs") {
    CHECK(parsed({"-K", "x"}).kill_on_bad_exit);
    CHECK_FALSE(parsed({"-K0", "x"}).kill_on_bad_exit);
    CHECK(parsed({"-lu", "-N2-4", "x"}).nodes == 2);
    CHECK(parsed({"-lu", "x"}).label);
    CHECK(parsed({"--ntasks-per-nod", "2", "x"}).tasks_per_node == 2);
    CHECK(parsed({"-G", "a100:8", "x"}).gpus == 8);
    CHECK(parsed({"--gres=gpu", "x"}).gpus_per_node == 1);
    CHECK(parsed({"--gres=gpu:a100", "x"}).gpus_per_node == 1);
    CHECK(parsed({"--gres", "gpu:a100:4", "x"}).gpus_per_node == 4);
    CHECK_FALSE(parsed({"--gres=none", "x"}).gpus_per_node.has_value());
    CHECK(parsed({"--gpus-per-task=2", "--", "-x"}).command == Words{"-x"});
    CHECK(parsed({"--version"}).what == SrunOptions::What::version);
}

TEST_CASE("which variables go along") {
    CHECK(parsed({"x"}).exported.all);
    CHECK(parsed({"--export=ALL,A=1", "x"}).exported.all);
    CHECK_FALSE(parsed({"--export=NONE", "x"}).exported.all);
    const auto some = parsed({"--export", "A,B=2=3", "x"}).exported;
    CHECK_FALSE(some.all);
    CHECK(some.names == Words{"A"});
    CHECK(some.values.at("B") == "2=3");
}

TEST_CASE("Slurm's variables say what the command line does not") {
    using namespace std::string_literals;
    const auto own =
        Environment::from_block("SLURM_NTASKS=4\0SLURM_NNODES=2\0SLURM_LABELIO=0\0SLURM_KILL_BAD_EXIT=1\0"s);
    CHECK(parsed({"x"}, own).tasks == 4);
    CHECK(parsed({"-n2", "x"}, own).tasks == 2);
    CHECK(parsed({"-n2", "x"}, own).nodes == 2);
    CHECK_FALSE(parsed({"x"}, own).label);
    CHECK(parsed({"x"}, own).kill_on_bad_exit);
    CHECK(parse_srun({"x"}, Environment::from_block("SLURM_NTASKS=many\0"s)).error().message ==
          "SLURM_NTASKS: Invalid numeric value \"many\" for --ntasks.");
}

TEST_CASE("what is wrong is told in Slurm's words, with Slurm's codes") {
    CHECK(refused({"--no-such-flag", "true"}) == "255 unrecognized option '--no-such-flag'");
    CHECK(refused({"-y", "true"}) == "255 unrecognized option '-y'");
    CHECK(refused({"-n"}) == "255 option requires an argument -- 'n'");
    CHECK(refused({"--ntasks"}) == "255 option '--ntasks' requires an argument");
    CHECK(refused({"-n", "x", "true"}) == "1 Invalid numeric value \"x\" for --ntasks.");
    CHECK(refused({"-n", "0", "true"}) == "1 Invalid numeric value \"0\" for --ntasks.");
    CHECK(refused({"-n2"}) == "1 No command given to execute.");
    CHECK(refused({"-N", "3-2", "true"}) == "1 invalid number of nodes (-N 3-2)");
    CHECK(refused({"--gres=gpu:x:y:", "true"}) == "1 Invalid GRES specification (--gres=gpu:x:y:)");
}

TEST_CASE("what would change what is run is refused, with what to type") {
    CHECK(refused({"--pty", "bash"}) ==
          "1 --pty is not known to dockdist's srun: type `ssh -t NODE COMMAND`");
    CHECK(refused({"--multi-prog", "conf"}) == "1 --multi-prog is not known to dockdist's srun and sbatch");
    CHECK(refused({"-m", "cyclic", "x"}) == "1 --distribution=cyclic: dockdist supports only block");
    CHECK(parsed({"--mpi=pmix", "x"}).remarks ==
          Words{"--mpi=pmix: dockdist's srun brings no PMI; start MPI programs with mpirun"});
}

TEST_CASE("pyxis' options are of the node, which is the container") {
    const auto options =
        parsed({"--container-image=nvcr.io/x", "--container-mounts=/a:/a", "--no-container-mount-home",
                "--container-workdir", "/work", "sh", "-c", "x"});
    CHECK(options.remarks ==
          Words{"the node is the container: image and mounts are those of cluster.yaml, and "
                "--container-… has no effect"});
    CHECK(options.folder == "/work");
    CHECK(options.command == Words{"sh", "-c", "x"});
}

TEST_CASE("an option whose value was an empty variable takes no other word for it") {
    // srun -p $PARTITION cat train.txt: `cat` is a program, and train.txt is none.
    auto options = parsed({"-N2", "-p", "cat", "train.txt"});
    CHECK(options.command == Words{"cat", "train.txt"});
    CHECK(options.partition.empty());
    CHECK(options.nodes == 2);
    CHECK(options.remarks ==
          Words{"-p lacks its value (an empty variable?), and is left out: cat is the command"});
    CHECK(parsed({"--nodes=1", "--ntasks=1", "-w", "hostname", "--ip-address"}).command ==
          Words{"hostname", "--ip-address"});
    CHECK(parsed({"-A", "cat"}).command == Words{"cat"});
    CHECK(parsed({"--account", "-N2", "cat", "x"}).nodes == 2);
    CHECK(parsed({"--partition=", "--nodes=2", "cat"}).nodes == 2);
    CHECK(parsed({"-w", "", "cat"}).node_list.empty());
    CHECK(refused({"-n", "-N2", "cat"}) == "255 option requires an argument -- 'n'");
    // A partition that is called as a program is.
    CHECK(parsed({"-p", "test", "cat", "x"}).partition == "test");
    CHECK(parsed({"-p", "test", "./train", "x"}).partition == "test");
}

} // namespace srun_options_test
