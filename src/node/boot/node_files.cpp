#include "node/boot/node_files.hpp"

#include "node/system/environment.hpp"
#include "node/system/paths.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/subnet.hpp"
#include "shared/core/text.hpp"
#include "shared/keys/ssh_key.hpp"
#include "shared/rdma/variables.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <map>
#include <set>

namespace dockdist::node {
namespace {

bool is_user_name(std::string_view name) {
    return !name.empty() && name.front() != '-' && wire::is_job_id(name);
}

// A name that the kernel may have given (IFNAMSIZ), and that means one interface wherever launchers read
// lists of them.
bool is_interface_name(std::string_view name) {
    return name.size() < 16 && std::ranges::all_of(
                                   name,
                                   [](char c) {
                                       return c > ' ' && c < '\x7F' &&
                                              std::string_view("/,=^").find(c) == std::string_view::npos;
                                   });
}

Error bad_member(const wire::NodeRecord& node, const std::string& what) {
    return Error{.kind = ErrorKind::protocol,
                 .where = printable(node.node),
                 .message = "the list of members holds " + what,
                 .hint = "run `dockdist up` again; if that does not help, a node was tampered with"};
}

// The name under which ssh looks a host key up.
std::string host_with_port(const std::string& host, int port) {
    return port == 22 ? host : "[" + host + "]:" + std::to_string(port);
}

// Connections that have not logged in, at one sshd. Its peers come all at once when a launcher starts, two
// from each node, and a script's own besides: as many from one address as nodes share it. A stranger must not
// be able to take all of them from a few addresses. Counted in powers of two, so that a cluster that grows by
// a few nodes keeps its sshds.
std::string connection_limits(int nodes, int nodes_beside) {
    constexpr unsigned of_a_script = 64;
    const auto from_one = of_a_script + 2 * std::bit_ceil(static_cast<unsigned>(nodes_beside));
    const auto from_all = 4 * of_a_script + 2 * std::bit_ceil(static_cast<unsigned>(nodes));
    return "PerSourceMaxStartups " + std::to_string(from_one) + "\nMaxStartups " + std::to_string(from_all) +
           ":30:" + std::to_string(2 * from_all) + "\n";
}

bool is_ipv6(const std::string& address) {
    return address.find(':') != std::string::npos;
}

} // namespace

Status check_members(const wire::Members& members) {
    if (!is_plain_name(members.cluster)) {
        return Error{.kind = ErrorKind::protocol,
                     .message = "the list of members is of a cluster with an invalid name: " +
                                printable(members.cluster)};
    }
    std::set<std::string> names;
    std::set<std::string> ends;
    for (const auto& node : members.nodes) {
        if (!is_plain_name(node.node)) {
            return bad_member(node, "a name that is none");
        }
        if (!names.insert(node.node).second) {
            return bad_member(node, "this name twice");
        }
        if (!is_ip_address(node.address)) {
            return bad_member(node, "an address that is not numeric: " + printable(node.address));
        }
        if (!is_interface_name(node.interface)) {
            return bad_member(node, "an invalid interface: " + printable(node.interface));
        }
        if (node.ssh_port < 1 || node.ssh_port > 65535 || node.slots < 1) {
            return bad_member(node, "a wrong ssh port or number of slots");
        }
        if (!ends.insert(address_and_port(node.address, node.ssh_port)).second) {
            return bad_member(node,
                              "the address " + address_and_port(node.address, node.ssh_port) + " twice");
        }
        if (!is_ed25519_key(node.user_key) || !is_ed25519_key(node.host_key)) {
            return bad_member(node, "a key that is not an ssh-ed25519 public key");
        }
        if (!is_user_name(node.user)) {
            return bad_member(node, "an invalid user name: " + printable(node.user));
        }
    }
    return ok;
}

std::string authorized_keys(const wire::Members& members) {
    std::string text;
    for (const auto& node : members.nodes) {
        text += "restrict,pty,from=\"" + node.address + "\" " + node.user_key + " " + node.node + "\n";
    }
    return text;
}

std::string known_hosts(const wire::Members& members) {
    std::string text;
    for (const auto& node : members.nodes) {
        text += node.node + "," + host_with_port(node.node, node.ssh_port) + "," +
                host_with_port(node.address, node.ssh_port) + " " + node.host_key + "\n";
    }
    return text;
}

std::string ssh_config(const wire::NodeRecord& self, const wire::Members& members) {
    const auto& place = paths();
    std::string text = "# Made by dockdist at join. `ssh NODE` reads this file for the cluster's nodes, and "
                       "only for them.\n";
    std::string all;
    std::set<std::string> addresses;
    for (const auto& node : members.nodes) {
        const bool first_of_address = addresses.insert(node.address).second;
        const auto names = node.node + (first_of_address ? " " + node.address : "");
        all += (all.empty() ? "" : " ") + names;
        text += "Host " + names + "\n    HostName " + node.address + "\n    Port " +
                std::to_string(node.ssh_port) + "\n    User " + node.user + "\n    HostKeyAlias " +
                node.node + "\n";
        if (is_ipv6(node.address) == is_ipv6(self.address)) {
            text += "    BindAddress " + self.address +
                    "\n"; // authorized_keys lets this address in, and no other
        }
    }
    text += "Host " + all + "\n    IdentityFile " + place.user_key + "\n    UserKnownHostsFile " +
            place.known_hosts + R"(
    GlobalKnownHostsFile none
    StrictHostKeyChecking yes
    UpdateHostKeys no
    CheckHostIP no
    HostKeyAlgorithms ssh-ed25519
    BatchMode yes
    IdentitiesOnly yes
    IdentityAgent none
    PreferredAuthentications publickey
    GSSAPIAuthentication no
    ForwardAgent no
    ForwardX11 no
    ConnectTimeout 15
    ConnectionAttempts 3
    ServerAliveInterval 15
    ServerAliveCountMax 4
    TCPKeepAlive yes
    LogLevel ERROR
)";
    text += std::string("    SendEnv ") + wire::job_mark + " " + job_environment_variable + "\n";
    return text;
}

std::string sshd_config(const wire::NodeRecord& self, int nodes, int nodes_beside) {
    const auto& place = paths();
    std::string text = "# Made by dockdist at join: for this cluster's nodes and nobody else.\n";
    text += "ListenAddress " + address_and_port(self.address, self.ssh_port) + "\nHostKey " + place.host_key +
            "\nAuthorizedKeysFile " + place.authorized_keys + "\nAllowUsers " + self.user +
            "\nForceCommand " + place.own + " session\nSubsystem sftp " + place.sftp_server + "\nAcceptEnv " +
            wire::job_mark + " " + job_environment_variable + R"(
# The shell that sshd starts for ForceCommand must not run ~/.bashrc: bash does, unless it stands in another shell.
SetEnv SHLVL=2
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PermitEmptyPasswords no
PermitRootLogin prohibit-password
UsePAM no
StrictModes yes
DisableForwarding yes
AllowAgentForwarding no
AllowTcpForwarding no
AllowStreamLocalForwarding no
GatewayPorts no
PermitTunnel no
X11Forwarding no
PermitUserEnvironment no
PermitUserRC no
PrintMotd no
PrintLastLog no
UseDNS no
PidFile none
LogLevel ERROR
LoginGraceTime 30
MaxAuthTries 3
MaxSessions 1024
TCPKeepAlive yes
# OpenSSH 9.2 asks after every second interval only: a peer that was cut off is gone after 60 s, and what it had started here ends.
ClientAliveInterval 6
ClientAliveCountMax 4
)";
    return text + connection_limits(nodes, nodes_beside);
}

std::string hostfile(const wire::Members& members) {
    std::string text;
    for (const auto& node : members.nodes) {
        text += node.node + " slots=" + std::to_string(node.slots) + "\n";
    }
    return text;
}

std::string hydra_hostfile(const wire::Members& members) {
    std::string text;
    for (const auto& node : members.nodes) {
        text += node.node + ":" + std::to_string(node.slots) + "\n";
    }
    return text;
}

std::string wcoll(const wire::Members& members) {
    std::string text;
    for (const auto& node : members.nodes) {
        text += node.node + "\n";
    }
    return text;
}

std::optional<std::string> common_subnet(const wire::Members& members) {
    std::vector<std::string> addresses;
    std::ranges::transform(members.nodes, std::back_inserter(addresses), &wire::NodeRecord::address);
    const auto subnet = narrowest_subnet(addresses);
    constexpr int widest = 16;
    return !subnet || subnet->ipv6 || subnet->prefix < widest ? std::nullopt
                                                              : std::optional(to_text(*subnet));
}

std::string profile_script(std::string_view path) {
    return "# Made by dockdist: /etc/profile has just replaced PATH; this is the container's own "
           "again.\nPATH=" +
           shell_quote(path) + "\nexport PATH\n";
}

std::map<std::string, std::string> node_variables(const wire::NodeRecord& self,
                                                  const wire::Members& members) {
    const auto& place = paths();
    std::map<std::string, std::string> variables{
        {"DOCKDIST_CLUSTER", members.cluster},
        {"DOCKDIST_NODE", self.node},
        {"DOCKDIST_NODE_RANK", std::to_string(self.rank)},
        {"NCCL_SOCKET_IFNAME", "=" + self.interface}, // '=': this very name, not a prefix
        {"GLOO_SOCKET_IFNAME", self.interface},
        {"TP_SOCKET_IFNAME", self.interface},
        {"VLLM_HOST_IP", self.address}, // servers that look for their own address by the way to the internet
        {"SGLANG_HOST_IP", self.address},
        {"PDSH_RCMD_TYPE", "ssh"},
        {"WCOLL", place.wcoll},
        {"HYDRA_HOST_FILE", place.hydra_hostfile},
        {"OMPI_MCA_orte_default_hostfile", place.hostfile},
        {"PRTE_MCA_prte_default_hostfile", place.hostfile},
    };
    if (std::ranges::all_of(members.nodes, [](const auto& node) { return is_ipv6(node.address); })) {
        variables["NCCL_SOCKET_FAMILY"] = "AF_INET6"; // else it takes IPv4's of an interface that has both
    }
    // mpirun hands its own OMPI_MCA_ variables to every node, so they must be true for all.
    const bool same_interface = std::ranges::all_of(
        members.nodes, [&](const auto& node) { return node.interface == self.interface; });
    const auto selector = common_subnet(members).value_or(same_interface ? self.interface : std::string());
    if (!selector.empty()) {
        for (const auto* name :
             {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "PRTE_MCA_prte_if_include"}) {
            variables[name] = selector;
        }
    }
    const auto own = std::ranges::find(members.nodes, self.node, &wire::NodeRecord::node);
    if (own != members.nodes.end()) {
        const auto settings = rdma::settings(rdma::judge(members.nodes));
        for (const auto& variable : settings.nodes[static_cast<std::size_t>(own - members.nodes.begin())]) {
            variables[variable.name] = variable.value;
        }
    }
    if (self.user == "root") {
        for (const auto* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                 "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
            variables[name] = "1";
        }
    }
    return variables;
}

} // namespace dockdist::node
