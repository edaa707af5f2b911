// dockdist-init: the one program that dockdist runs inside a node, under several names and commands.
#include "node/boot/init.hpp"
#include "node/boot/join.hpp"
#include "node/boot/node_state.hpp"
#include "node/boot/wrappers.hpp"
#include "node/check/check_session.hpp"
#include "node/check/limits.hpp"
#include "node/check/probe_runner.hpp"
#include "node/gpus/gpus_command.hpp"
#include "node/job/job_command.hpp"
#include "node/job/rank/rank_shim.hpp"
#include "node/job/rank/rank_spawner.hpp"
#include "node/job/srun/sbatch.hpp"
#include "node/job/srun/srun.hpp"
#include "node/job/srun/step_part.hpp"
#include "node/login/login.hpp"
#include "node/relay/relay_command.hpp"
#include "node/sampler/sample_command.hpp"
#include "node/session/batch_script.hpp"
#include "node/session/session.hpp"
#include "node/session/setup_command.hpp"
#include "node/session/with_environment.hpp"
#include "node/sync/sync_command.hpp"
#include "node/system/os.hpp"
#include "node/tunnel/tunnel_session.hpp"

#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

namespace dockdist::node {
namespace {

constexpr std::string_view usage = R"(dockdist-init: the part of dockdist that runs inside a node
  dockdist-init                            as the container's first process
  dockdist-init join JSON                  exchanges keys with the cluster's other nodes
  dockdist-init members                    prints the list of members, and of those who were
  dockdist-init check                      answers a check's questions
  dockdist-init limits                     prints the limits that it runs with
  dockdist-init probe                      carries the lines of one dockdist-probe a GPU
  dockdist-init job start|follow|stop|list runs jobs
  dockdist-init rank                       one rank of the job, started by a launcher
  dockdist-init ranks COUNT FIRST WORLD    COUNT ranks of the job, where there is no launcher
  dockdist-init step                       one node's tasks of srun
  dockdist-init batch CMD...               CMD, as sbatch would run it where it is a script with #SBATCH lines
  dockdist-init sync JSON                  files in and out of the node
  dockdist-init gpus [--watch] [--in-use MIB]
                                           tells of the GPUs that it sees, and of who has them
  dockdist-init sample [--interval MS]     tells how busy the node is
  dockdist-init with-environment [--user U] [--workdir W] [--env K=V] [--gpus N] [--owner WHO]
                [--session JSON] [--line TEXT] [--] [CMD...]
  dockdist-init relay [hold|owner|give|give-self|unpack]
                                           hands an image or files on from host to host; hold: its container's
                                           first process; owner: of the folder that it has; give, unpack: the
                                           toolkit to another host's engine, and out of its image; give-self:
                                           the image of the relay itself
  dockdist-init tunnel JSON                carries a client's connections
  dockdist-init login KEY                  an sshd for one connection, on stdin and stdout
  dockdist-init login-key TYPE KEY         what that sshd asks
  dockdist-init setup state|run LINE...    lines of `setup:`, and which of them were done here
  dockdist-init session                    sshd's ForceCommand
  dockdist-init -c COMMAND                 a shell for images that have none
and, by their own names: ssh, scp, sftp, ssh-keygen, ssh-copy-id, pdsh, rsync, scontrol, srun, sbatch, pkill, hostname
)";

int dispatch(const std::string& program, const std::vector<std::string>& arguments) {
    const auto name = program.substr(program.rfind('/') + 1);
    if (is_wrapper(name)) {
        return run_wrapper(name, arguments);
    }
    if (name == "srun") {
        return run_srun(arguments);
    }
    if (name == "sbatch") {
        return run_sbatch(arguments);
    }
    if (arguments.empty()) {
        return run_init();
    }
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    const auto& command = arguments.front();
    if (command == "join" && rest.size() == 1) {
        return run_join(rest.front(), STDIN_FILENO, STDOUT_FILENO, false);
    }
    if (command == "join" && rest.size() == 2 && rest.front() == first_join) {
        return run_join(rest.back(), STDIN_FILENO, STDOUT_FILENO, true);
    }
    if (command == "members" && rest.empty()) {
        return tell_members();
    }
    if (command == "check" && rest.empty()) {
        return run_check_session();
    }
    if (command == "limits" && rest.empty()) {
        return run_limits();
    }
    if (command == "probe" && rest.empty()) {
        return run_probes();
    }
    if (command == "gpus") {
        return run_gpus(rest);
    }
    if (command == "sample") {
        return run_sample(rest);
    }
    if (command == "job") {
        return run_job(rest);
    }
    if (command == "rank" && rest.empty()) {
        return run_rank(Environment::own());
    }
    if (command == "ranks") {
        return run_ranks(rest);
    }
    if (command == "step" && rest.empty()) {
        return run_step_part();
    }
    if (command == batch_command && !rest.empty()) {
        return run_batch(rest);
    }
    if (command == "relay") {
        return run_relay(rest);
    }
    if (command == "session") {
        return run_session();
    }
    if (command == "setup") {
        return run_setup(rest);
    }
    if (command == "sync" && rest.size() == 1) {
        return run_sync(rest.front());
    }
    if (command == "tunnel" && rest.size() == 1) {
        return run_tunnel(rest.front());
    }
    if (command == "login" && rest.size() == 1) {
        return run_login(rest.front());
    }
    if (command == "login-key" && rest.size() == 2) { // sshd parts the words of its command
        return print_login_key(rest[0] + " " + rest[1]);
    }
    if (command == "with-environment") {
        return run_with_environment(rest);
    }
    if (command == "-c") {
        return run_as_shell(arguments);
    }
    (void)write_all(command == "--help" ? STDOUT_FILENO : STDERR_FILENO, usage);
    return command == "--help" ? 0 : 2;
}

} // namespace
} // namespace dockdist::node

int main(int argc, char** argv) {
    try {
        return dockdist::node::dispatch(argc > 0 ? argv[0] : "",
                                        std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const std::exception& error) {
        (void)dockdist::node::write_all(STDERR_FILENO, std::string("dockdist-init: ") + error.what() + "\n");
        return 70;
    }
}
