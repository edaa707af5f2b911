#include "client/spec/inventory.hpp"
#include "shared/core/host_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace inventory_test {

using namespace dockdist;
using Format = HostSource::Format;

namespace {

// "gpu1=10.0.0.1 ops@gpu2:2222 …".
std::string hosts_of(const Inventory& inventory) {
    std::string text;
    for (const auto& host : inventory.hosts) {
        text += text.empty() ? "" : " ";
        text += host.user.empty() ? "" : host.user + "@";
        text += host.name;
        text += host.address.empty() ? "" : "=" + host.address;
        text += host.port == 0 ? "" : ":" + std::to_string(host.port);
        text += host.slots ? "/" + std::to_string(*host.slots) : "";
    }
    return text;
}

std::string members(const Inventory& inventory, const std::string& group) {
    for (const auto& [name, hosts] : inventory.groups) {
        if (name == group) {
            std::vector<std::string> names;
            for (const auto host : hosts) {
                names.push_back(inventory.hosts[host].name);
            }
            return host_list(names);
        }
    }
    return "no such group";
}

Inventory good(std::string_view text, Format format, const std::string& group = "",
               std::map<std::string, std::string> beside = {}) {
    auto inventory = parse_inventory({std::string(text), std::move(beside)}, format, group);
    REQUIRE_MESSAGE(inventory.has_value(), inventory.error().message);
    return *inventory;
}

Error bad(std::string_view text, Format format, const std::string& group = "",
          std::map<std::string, std::string> beside = {}) {
    const auto inventory = parse_inventory({std::string(text), std::move(beside)}, format, group);
    REQUIRE(inventory.has_error());
    CHECK(inventory.error().kind == ErrorKind::config);
    return inventory.error();
}

constexpr std::string_view ini = R"(# a farm
login ansible_host=10.0.9.1

[gpu:children]
rack1
rack2

[rack1]
gpu[01:02].lab  ansible_user=root
[rack2]
gpu[03:05:2].lab ansible_port=2222   # the newer ones
fast-[a:b]       ansible_ssh_host='10.0.2.9'

[gpu:vars]
ansible_user = ops
note=two words
[rack2:vars]
ansible_user="rack two"
)";

constexpr std::string_view yaml = R"(all:
  vars: {ansible_user: ops}
  hosts:
    login: {ansible_host: 10.0.9.1, ansible_user: root}
  children:
    gpu:
      children:
        rack1:
          hosts:
            gpu[01:02].lab:
        rack2:
          hosts:
            gpu03.lab: {ansible_port: 2222, other: [1, 2]}
          vars: {ansible_port: 22}
)";

constexpr std::string_view printed = R"({
  "_meta": {"hostvars": {
    "b": {"ansible_host": "10.0.0.2", "ansible_port": 2222, "facts": {"x": [1]}}, "gone": {"ansible_port": 1},
    "a": {"ansible_user": "ops", "secret": {"__ansible_vault": "$ANSIBLE_VAULT;1.1"}}}},
  "all": {"children": ["ungrouped", "gpu"]},
  "gpu": {"children": ["rack1"], "vars": {"ansible_user": "root"}},
  "rack1": {"hosts": ["b", "a"]},
  "old": ["c:2200"]
})";
constexpr std::string_view yaml_in_braces =
    R"({"all": {"hosts": {"a": {"ansible_port": 22}}, "children": {"g": {"hosts": {"b": null}}}}})";

} // namespace

TEST_CASE("a plain list has names, ranges, users, addresses and slots, and comments") {
    const auto inventory = good("# mine\ngpu[1-2], ops@login  \n\ngpu2\r\n\tgpu3 slots=8 # new\n"
                                "tcp://10.0.0.[1-2]:2376 gpu[7-8] slots=2\n",
                                Format::hosts);
    CHECK(hosts_of(inventory) == "gpu1 gpu2 ops@login gpu3/8 tcp://10.0.0.1:2376/2 tcp://10.0.0.2:2376/2 "
                                 "gpu7/2 gpu8/2");
    CHECK(inventory.hosts[4].url == "tcp://10.0.0.1:2376");
    CHECK(inventory.groups.empty());
    CHECK(hosts_of(good("", Format::hosts)).empty());
}

TEST_CASE("a plain list that is none says which line is wrong") {
    auto error = bad("gpu1\ngpu[2-1]\n", Format::hosts);
    CHECK(error.where == "2");
    CHECK(error.message == "`2-1` counts down");
    error = bad("\ngpu1 ansible_host=10.0.0.1\n", Format::hosts);
    CHECK(error.where == "2");
    CHECK(error.hint.find("`format: ansible`") != std::string::npos);
    CHECK(bad("gpu1 slots=0\n", Format::hosts).message == "`slots=0` is not a number of slots");
    CHECK(bad("n[1-60000]\nm[1-60000]\n", Format::hosts).message == "it names more than 100000 hosts");
}

TEST_CASE("a hostfile as launchers have it is read, or says what to write") {
    const auto hosts = [](std::string_view text) { return hosts_of(good(text, Format::hosts)); };
    CHECK(hosts("\xEF\xBB\xBFgpu1 slots=2\r\ngpu2 slots=2\r\n") == "gpu1/2 gpu2/2");
    CHECK(hosts("gpu1 slots=2 max_slots=4\ngpu2 max-slots=4\n") == "gpu1/2 gpu2");
    CHECK(hosts("gpu1:8\nroot@gpu2:4\n[fd00::1]:2 fd00::2\n") == "gpu1/8 root@gpu2/4 fd00::1/2 fd00::2");
    CHECK(hosts("gpu1:22\nssh://gpu2:2222\n") == "gpu1 ssh://gpu2:2222");
    CHECK(hosts("gpu1 slots=2\ngpu2 slots=1\ngpu1 slots=2\n") == "gpu1/4 gpu2/1");
    CHECK(hosts("gpu1\ngpu1\ngpu2\ngpu2\n") == "gpu1 gpu2"); // once a slot, as PBS writes it
    auto error = bad("10.0.0.1:2222 slots=2\n", Format::hosts);
    CHECK(error.message == "`10.0.0.1:2222` has a port");
    CHECK(error.hint.find("write `ssh://10.0.0.1:2222`") != std::string::npos);
    error = bad("gpu1 -p 22\n", Format::hosts);
    CHECK(error.message == "`-p` is not a host");
    CHECK(error.hint.find("~/.ssh/config") != std::string::npos);
    CHECK(bad("gpu1 max_slots=x\n", Format::hosts).message == "`max_slots=x` is not a number of slots");
    CHECK(good("\xEF\xBB\xBF[all]\ngpu1\n", Format::ansible).hosts.size() == 1);
}

TEST_CASE("an inventory of Ansible in INI: ranges, variables of hosts before those of deep and then of high "
          "groups") {
    const auto inventory = good(ini, Format::ansible);
    CHECK(hosts_of(inventory) == "login=10.0.9.1 root@gpu01.lab root@gpu02.lab rack two@gpu03.lab:2222 "
                                 "rack two@gpu05.lab:2222 rack two@fast-a=10.0.2.9 rack two@fast-b=10.0.2.9");
    CHECK(members(inventory, "rack1") == "gpu01.lab,gpu02.lab");
    CHECK(members(inventory, "rack2") == "gpu03.lab,gpu05.lab,fast-a,fast-b");
    CHECK(members(inventory, "gpu") == "gpu01.lab,gpu02.lab,gpu03.lab,gpu05.lab,fast-a,fast-b");
    CHECK(members(inventory, "ungrouped") == "no such group");
}

TEST_CASE("one group of an inventory, with what other groups say of its hosts") {
    const auto inventory = good(ini, Format::ansible, "rack1");
    CHECK(hosts_of(inventory) == "root@gpu01.lab root@gpu02.lab");
    CHECK(members(inventory, "gpu") == "gpu01.lab,gpu02.lab");
    CHECK(members(inventory, "rack2") == "no such group");
    const auto error = bad(ini, Format::ansible, "rack9");
    CHECK(error.message == "it has no group `rack9`");
    CHECK(error.hint == "it has gpu,rack[1-2]");
}

TEST_CASE("an inventory of Ansible in YAML") {
    const auto inventory = good(yaml, Format::ansible);
    CHECK(hosts_of(inventory) == "root@login=10.0.9.1 ops@gpu01.lab ops@gpu02.lab ops@gpu03.lab:2222");
    CHECK(members(inventory, "gpu") == "gpu01.lab,gpu02.lab,gpu03.lab");
    CHECK(hosts_of(good(yaml, Format::ansible, "rack2")) == "ops@gpu03.lab:2222");
    CHECK(good(yaml, Format::ansible, "all").hosts.size() == 4);
}

TEST_CASE("a port behind a host's name is its own, in whatever groups it stands") {
    const auto inventory =
        good("[a]\nh1:2222\nh2:2222 ansible_port=22\n[2001:db8::1]:2200\n2001:db8::2\nn[1:2].lab:2201\n"
             "[b]\nh1\nn1.lab\n[b:vars]\nansible_port=23\n",
             Format::ansible);
    CHECK(hosts_of(inventory) == "h1:2222 h2:22 2001:db8::1:2200 2001:db8::2 n1.lab:2201 n2.lab:2201");
    CHECK(hosts_of(good(
              "all:\n  hosts:\n    h1:2222:\n    h2: {ansible_port: 22}\n  children: {b: {hosts: {h1: }}}\n",
              Format::ansible)) == "h1:2222 h2:22");
}

TEST_CASE(
    "templates of the host's own variables are filled in, and what is encrypted elsewhere is passed over") {
    CHECK(hosts_of(good("gpu1.lab ansible_host='{{ip}}' ip='10.0.0.{{ last }}' last=7\n[all:vars]\n"
                        "ansible_user={{ team }}-{{ inventory_hostname_short }}\nteam=ml\n",
                        Format::ansible)) == "ml-gpu1@gpu1.lab=10.0.0.7");
    const auto error = bad("a ansible_host='{{ b }}' b='{{ a }}' a='{{ b }}'\n", Format::ansible);
    CHECK(error.message.find("is a template") != std::string::npos);
    constexpr std::string_view vault =
        "all:\n  vars:\n    %: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3662\n"
        "    other: !unsafe 'a{{b'\n  hosts: {a: }\n";
    const auto with = [&](const std::string& name) {
        auto text = std::string(vault);
        return text.replace(text.find('%'), 1, name);
    };
    CHECK(hosts_of(good(with("ansible_become_pass"), Format::ansible)) == "a");
    CHECK(bad(with("ansible_user"), Format::ansible).message ==
          "ansible_user of a is encrypted, and only Ansible can read it");
}

TEST_CASE("what ansible-inventory --list and dynamic inventories print") {
    const auto inventory = good(printed, Format::ansible);
    CHECK(hosts_of(inventory) == "c:2200 root@b=10.0.0.2:2222 ops@a");
    CHECK(members(inventory, "gpu") == "b,a");
    CHECK(members(inventory, "old") == "c");
    CHECK(hosts_of(good(yaml_in_braces, Format::ansible)) == "a:22 b");
    CHECK(bad("{\"_meta\": {}, \"gpu\": {\"hosts\": [1]}}", Format::ansible).message ==
          "`hosts` and `children` of the group `gpu` are not lists of names");
    CHECK(bad("{\"_meta\": {}, \"gpu\": 1}", Format::ansible).message == "the group `gpu` is not a map");
}

TEST_CASE("files of variables beside an inventory outrank what it says of groups, and those of hosts what it "
          "says of hosts") {
    const std::map<std::string, std::string> beside{
        {"group_vars/all.yml", "---\nansible_user: ops\nansible_port: 2200\n"},
        {"group_vars/gpu/ssh.yml", "ansible_port: 2222\nlist: [1]\n"},
        {"group_vars/gpu/vault", "$ANSIBLE_VAULT;1.1;AES256\n3662\n"},
        {"group_vars/elsewhere.yml", "{{ not yaml"},
        {"host_vars/a.example.org.yml", "ansible_host: 10.0.0.9\n"},
        {"host_vars/b", ""},
    };
    constexpr std::string_view text =
        "c\n[gpu]\na.example.org ansible_host=10.0.0.1 ansible_user=ada\nb\n[gpu:vars]\nansible_port=1\n";
    CHECK(hosts_of(good(text, Format::ansible, "", beside)) ==
          "ops@c:2200 ada@a.example.org=10.0.0.9:2222 ops@b:2222");
    CHECK(hosts_of(good("---\ngpu: {hosts: {b: }}\n", Format::ansible, "gpu", beside)) == "ops@b:2222");
    const auto error = bad(text, Format::ansible, "", {{"group_vars/gpu.yml", "a: 1\na: 2\n"}});
    CHECK(error.message.starts_with("group_vars/gpu.yml, line 2: "));
}

TEST_CASE("an inventory of Ansible that cannot be used says why") {
    CHECK(bad("a ansible_host={{ip}}\n", Format::ansible).hint.find("ansible-inventory") !=
          std::string::npos);
    CHECK(bad("a ansible_port=ssh\n", Format::ansible).message == "`ssh` of a is not a port");
    auto error = bad("a\nb ansible_host\n", Format::ansible);
    CHECK(error.where == "2");
    CHECK(error.message == "`ansible_host` after a host is not NAME=VALUE");
    CHECK(bad("a 'b\n", Format::ansible).message == "a quotation mark is not closed");
    CHECK(bad("g[1:]\n", Format::ansible).hint == "it is written [01:50], [1:9:2] or [a:f]");
    CHECK(bad("g[0:99][0:99][0:99]\n", Format::ansible).message == "it stands for more than 100000 hosts");
    CHECK(bad("[a:children]\nb\n[b:children]\na\n", Format::ansible).message.find("its own child") !=
          std::string::npos);
    error = bad("all:\n  hosts: [a, b]\n", Format::ansible);
    CHECK(error.where == "2");
    CHECK(error.message == "`hosts` of the group `all` is not a map");
    CHECK(bad("all:\n  host:\n    a:\n", Format::ansible).message == "`host` means nothing in a group");
    CHECK(bad("all:\n  hosts: {a: 1, a: 2}\n", Format::ansible).where == "2");
}

TEST_CASE("a group file of clush: unions, differences, intersections, groups in groups") {
    const auto inventory =
        good("# local\nall: @rack1,@rack2\nrack1: gpu[1-3] login\nrack2: gpu[4-6]\n"
             "odd: gpu[1-5/2]\nfree: @rack1!gpu2,gpu9\nboth: @rack1&@odd\nxor: gpu[1-2]^gpu[2-3]\n",
             Format::clush);
    CHECK(members(inventory, "rack1") == "gpu[1-3],login");
    CHECK(members(inventory, "odd") == "gpu[1,3,5]");
    CHECK(members(inventory, "both") == "gpu[1,3]");
    CHECK(members(inventory, "xor") == "gpu[1,3]");
    CHECK(hosts_of(good("rack1: gpu[1-3]\nfree: @rack1!gpu2,gpu9\n", Format::clush, "free")) ==
          "gpu1 gpu3 gpu9");
    const auto sources =
        good("roles:\n  compute: 'gpu[1-2]'\n  login: [front1, 'front[3-4]']\n", Format::clush, "login");
    CHECK(hosts_of(sources) == "front1 front3 front4");
}

TEST_CASE("a group file of clush that cannot be used says where") {
    auto error = bad("a: gpu1\ngpu[1-2]\n", Format::clush);
    CHECK(error.where == "2");
    CHECK(error.message == "`gpu[1-2]` is not a group");
    CHECK(bad("a: @b\n", Format::clush).message == "there is no group `b`");
    CHECK(bad("a: @b\nb: @a\n", Format::clush).message.find("names itself") != std::string::npos);
    CHECK(bad("a: gpu[3-1]\n", Format::clush).where == "1");
}

TEST_CASE("ten thousand hosts in a hundred groups") {
    std::string text;
    for (int rack = 0; rack < 100; ++rack) {
        text +=
            "[rack" + std::to_string(rack) + "]\nr" + std::to_string(rack) + "n[001:100] ansible_port=22\n";
    }
    const auto inventory = good(text, Format::ansible);
    CHECK(inventory.hosts.size() == 10'000);
    CHECK(inventory.groups.size() == 100);
    CHECK(inventory.groups[99].second.size() == 100);
}

} // namespace inventory_test
