// Where dockdist-init finds and keeps things. Fixed in the product; the program that tests run puts
// DOCKDIST_TEST_ROOT before each (see CMakeLists.txt: only paths.cpp differs between the two).
#pragma once

#include "shared/wire/layout.hpp"

#include <string>

namespace dockdist::node {

std::string under_root(const char* path);
// layout::gpus; of nodes under test that share it, DOCKDIST_TEST_GPUS.
std::string shared_gpus();

struct Paths {
    std::string run = under_root(layout::run);
    std::string environment = under_root(layout::environment);
    std::string node_record = under_root(layout::node_record);
    std::string members = under_root(layout::members);
    std::string hostfile = under_root(layout::hostfile);
    std::string store = under_root(layout::store);
    std::string incoming_jobs = under_root(layout::incoming_jobs);
    std::string jobs = under_root(layout::jobs);
    std::string setup = under_root(layout::setup);
    std::string setup_users = setup + "/users"; // a folder for each account that has run lines, but root
    std::string shared = under_root(layout::shared);
    std::string gpus = shared_gpus();         // the host's, node/gpus/board_file.hpp
    std::string blobs = under_root("/blobs"); // of an image's relay, in a container of its own
    std::string data = under_root("/data");   // of a tree's
    std::string toolkit = under_root(layout::toolkit);
    std::string image = under_root(""); // where a toolkit lies that came as an image

    std::string private_folder = run + "/private";                         // 0700 root
    std::string created_environment = private_folder + "/created-environ"; // the container's own
    // That with what the file says since, before the node's variables.
    std::string container_environment = private_folder + "/container-environ";
    std::string created_workdir = private_folder + "/created-workdir"; // in which the container was started
    std::string init_socket = private_folder + "/init.sock";
    std::string host_key = private_folder + "/ssh_host_ed25519_key";
    std::string host_public_key = private_folder + "/host.pub";
    std::string user_public_key =
        private_folder + "/user.pub";        // beside the host's: container.user cannot swap it
    std::string user_folder = run + "/user"; // 0700 container.user
    std::string user_key = user_folder + "/id_ed25519";
    std::string authorized_keys = run + "/authorized_keys";
    std::string known_hosts = run + "/known_hosts";
    std::string ssh_config = run + "/ssh_config";
    std::string sshd_config = run + "/sshd_config";
    std::string wcoll = run + "/nodes";                   // pdsh's list: one name a line
    std::string hydra_hostfile = run + "/hostfile.hydra"; // MPICH's dialect: NAME:N
    std::string workdir = run + "/workdir";               // the folder in which jobs and sessions begin
    std::string known_gpus = run + "/gpus.json";          // as join found them
    std::string user_name = run + "/user-name";           // the account of jobs and sessions
    std::string members_door = run + "/members.door";     // where a join waits for the list of members
    std::string job_sockets = run + "/jobs";              // 0711; <job>, its doors and <job>:control

    std::string sshd = under_root("/opt/dockdist/libexec/sshd");
    std::string ssh = under_root("/opt/dockdist/libexec/ssh");
    std::string scp = under_root("/opt/dockdist/libexec/scp");
    std::string sftp = under_root("/opt/dockdist/libexec/sftp");
    std::string sftp_server = under_root("/opt/dockdist/libexec/sftp-server");
    std::string ssh_keygen = under_root("/opt/dockdist/libexec/ssh-keygen");
    std::string own = under_root("/opt/dockdist/libexec/dockdist-init");
    std::string pdsh = under_root("/opt/dockdist/libexec/pdsh");
    std::string rsync = under_root("/opt/dockdist/libexec/rsync");
    std::string probe = under_root("/opt/dockdist/libexec/dockdist-probe");
    std::string py_spy = under_root("/opt/dockdist/libexec/py-spy");
    std::string infiniband = under_root("/sys/class/infiniband");
    std::string ssh_wrapper = under_root("/opt/dockdist/bin/ssh");
    std::string pdsh_wrapper = under_root("/opt/dockdist/bin/pdsh");

    std::string passwd = under_root("/etc/passwd");
    std::string group = under_root("/etc/group");
    std::string shadow = under_root("/etc/shadow");
    std::string hosts = under_root("/etc/hosts");
    std::string profile_folder = under_root("/etc/profile.d");
};

const Paths& paths();

} // namespace dockdist::node
