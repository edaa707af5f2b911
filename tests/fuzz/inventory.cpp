// Lists of hosts that are not dockdist's own: plain ones, inventories of Ansible, group files of clush,
// allocations of Slurm; and the cluster that is made of them. Whatever stands there, a mistake has a message,
// what comes out is bounded, and each host is one.
#include "client/spec/inventory.hpp"

#include "client/spec/load_spec.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <set>

namespace {

using namespace dockdist;
using Format = HostSource::Format;

std::optional<std::string> nothing(const std::string& /*name*/) {
    return std::nullopt;
}

void sound(const Inventory& inventory) {
    std::set<std::string> names;
    for (const auto& host : inventory.hosts) {
        fuzz::require(names.insert(host.name).second, "each host is there once");
    }
    fuzz::require(names.size() <= most_host_names, "there is a bound to the hosts");
    for (const auto& [group, hosts] : inventory.groups) {
        std::set<std::size_t> members(hosts.begin(), hosts.end());
        fuzz::require(members.size() == hosts.size(), "a group has each of its hosts once");
        fuzz::require(members.empty() || *members.rbegin() < names.size(),
                      "a group is of hosts that are there");
    }
}

// As cluster.yaml takes it in.
void taken_in(std::string_view text, Format format) {
    const char* const names[]{"hosts", "ansible", "clush", ""};
    const bool slurm = format == Format::slurm;
    const HostSource source{.file = slurm ? "" : "/l", .format = format};
    const auto loaded = load_spec(slurm ? "image: a\nhosts: slurm\n"
                                        : std::string("image: a\nhosts:\n  - from: {file: /l, format: ") +
                                              names[static_cast<std::size_t>(format)] + "}\n",
                                  "/p/cluster.yaml", nothing,
                                  {.host_lists = {{source, Result<ListText>({.text = std::string(text)})}}});
    for (const auto& error : loaded.errors) {
        fuzz::require(fuzz::has_no_controls(error.message) && fuzz::has_no_controls(error.hint),
                      "no message has controls in it");
        fuzz::require(error.message.size() < 4096, "a message is bounded");
    }
    std::set<std::string> nodes;
    for (const auto& host : loaded.errors.empty() ? loaded.spec.hosts : std::vector<HostSpec>()) {
        fuzz::require(is_plain_name(host.name.str()), "a host's name fits everywhere");
        fuzz::require(nodes.insert(host.name.str()).second, "a host's name is its own");
        fuzz::require(!host.docker.host.starts_with('-') && !host.docker.user.starts_with('-'),
                      "nothing is read as an option");
    }
}

template <Format format>
void read(std::string_view text) {
    // What stands behind a NUL is a file of variables.
    const auto end = std::min(text.find('\0'), text.size());
    ListText list{.text = std::string(text.substr(0, end))};
    if (end < text.size()) {
        list.beside = {{"group_vars/all.yml", std::string(text.substr(end + 1))},
                       {"host_vars/a", std::string(text.substr(end + 1))}};
    }
    const auto inventory = parse_inventory(list, format, "");
    if (inventory) {
        sound(*inventory);
    } else {
        fuzz::require(!inventory.error().message.empty(), "a mistake is told");
    }
    if (const auto group = parse_inventory(list, format, "gpu")) {
        sound(*group);
    }
    taken_in(text, format);
}

} // namespace

void fuzz::one_input(std::string_view input) {
    static constexpr Read kinds[]{read<Format::hosts>, read<Format::ansible>, read<Format::clush>,
                                  read<Format::slurm>};
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    return {
        of_kind(0, "# mine\ngpu[1-2], ops@login slots=8\n10.0.0.[1-9/2]\ntcp://[fd00::1]:2376 ssh://a:22\n"),
        of_kind(1, "login ansible_host=10.0.0.1\n[gpu:children]\nr1\n[r1]\ng[01:09:2].x ansible_port=22\n"
                   "h-[a:f] ansible_user='o p' # no\n[gpu:vars]\nansible_user = ops\n"),
        of_kind(1,
                "all:\n  vars: {ansible_user: ops}\n  hosts:\n    a: {ansible_host: 1.2.3.4}\n  children:\n"
                "    gpu:\n      hosts:\n        g[01:09]:\n      children: {r1: {hosts: {b: }}}\n"),
        of_kind(1, "{\"_meta\":{\"hostvars\":{\"a\":{\"ansible_port\":22,\"ip\":\"10.0.0.1\",\"ansible_"
                   "host\":\"{{ ip }}\"}}},"
                   "\"all\":{\"children\":[\"gpu\"]},\"gpu\":{\"hosts\":[\"a\",\"[fd00::1]:22\"]},\"old\":["
                   "\"b:2222\"]}"),
        of_kind(1, std::string("a:2222 ansible_host={{ inventory_hostname }}.x\n") + '\0' +
                       "ansible_user: ops\nkey: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n"),
        of_kind(2, "all: @gpu\ngpu: g[1-9] x\nodd: @gpu&g[1-9/2]!g3,y\nxor: a^b\n"),
        of_kind(2, "roles:\n  gpu: 'g[1-9]'\n  in: [a, '@gpu']\n"),
        of_kind(
            3,
            "JobId=7 JobName=a\n   JobState=RUNNING Reason=None\n   NodeList=g[1-2]\n   NumNodes=2 "
            "NumTasks=4\n"
            "   Socks/Node=* NtasksPerN:B:S:C=2:0:*:*\n     Nodes=g1 GRES=gpu:h100:2(IDX:0-1,7),shard:1\n\n"
            "NodeName=g1 A=x\n   Gres=gpu:8\n   NodeAddr=10.0.0.1 NodeHostName=g1.lab\n\nNodeName=g2\n"),
    };
}
