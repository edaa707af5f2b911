#include "node/login/login.hpp"

#include "node/session/session.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/keys/ssh_key.hpp"

#include <unistd.h>

namespace dockdist::node {
namespace {

int refuse_key() {
    return end_with("the key that should log in is not an ssh-ed25519 public key", exit_codes::wrong_input);
}

} // namespace

std::vector<std::string> login_sshd(std::string_view key, std::string_view user) {
    const auto& place = paths();
    // sshd -i has no other way to be told: a file would have to be removed again, by whoever is killed last.
    const std::vector<std::string> options{
        "HostKey=" + place.host_key,
        "AllowUsers=" + std::string(user),
        "AuthorizedKeysFile=none",
        "AuthorizedKeysCommand=" + place.own + " login-key " + std::string(key),
        "AuthorizedKeysCommandUser=root",
        "ForceCommand=" + place.own + " session",
        "Subsystem=sftp " + place.sftp_server,
        "SetEnv=SHLVL=2", // as in the node's own sshd_config: bash would run ~/.bashrc
        "AuthenticationMethods=publickey",
        "PubkeyAuthentication=yes",
        "PasswordAuthentication=no",
        "KbdInteractiveAuthentication=no",
        "HostbasedAuthentication=no",
        "PermitEmptyPasswords=no",
        "PermitRootLogin=prohibit-password",
        "UsePAM=no",
        "StrictModes=yes",
        "AllowTcpForwarding=yes",
        "AllowStreamLocalForwarding=yes",
        "StreamLocalBindUnlink=yes", // what an earlier -R /PATH has left is in nobody's way
        "AllowAgentForwarding=yes",
        "GatewayPorts=no", // -R PORT listens on loopback alone: the host's, which all its nodes share
        "PermitTunnel=no",
        "X11Forwarding=no",
        "PermitUserEnvironment=no",
        "PermitUserRC=no",
        "PrintMotd=no",
        "PrintLastLog=no",
        "UseDNS=no",
        "PidFile=none",
        "LogLevel=ERROR",
        "LoginGraceTime=30",
        "MaxAuthTries=64", // an agent, or keys that the user has set for all hosts, may come before it
        "MaxSessions=1024",
        // A client that is gone and did not say so: its session ends after a minute.
        "ClientAliveInterval=6",
        "ClientAliveCountMax=4",
    };
    std::vector<std::string> argv{place.sshd, "-i", "-e", "-f", "none"};
    for (const auto& option : options) {
        argv.insert(argv.end(), {"-o", option});
    }
    return argv;
}

int run_login(const std::string& key) {
    if (!is_ed25519_key(key)) {
        return refuse_key();
    }
    const auto account = recorded_account();
    auto environment = clean_environment();
    return exec_path(paths().sshd, login_sshd(key, account.name), environment);
}

int print_login_key(const std::string& key) {
    if (!is_ed25519_key(key)) {
        return refuse_key();
    }
    return write_all(STDOUT_FILENO, key + "\n") ? 0 : exit_codes::failed;
}

} // namespace dockdist::node
