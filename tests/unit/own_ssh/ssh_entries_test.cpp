#include "client/own_ssh/ssh_entries.hpp"
#include "golden.hpp"

#include <doctest/doctest.h>

namespace ssh_entries_test {

using namespace dockdist;

namespace {

const std::string key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk=";
const std::string pattern = "~/.ssh/dockdist/*.conf";

SshEntries some() {
    return {.prefix = "demo",
            .cluster = "demo",
            .machine = "desk",
            .program = "/opt/my tools/dockdist",
            .file = "/home/ada/100% 'new'/cluster.yaml",
            .environment = {"XDG_STATE_HOME=/home/ada/50%", "DOCKER_CONTEXT=ada's"},
            .key = "/home/ada/50%/dockdist/ssh/demo of things/id_ed25519",
            .known_hosts = "/home/ada/50%/dockdist/ssh/demo of things/known_hosts",
            .nodes = {{.node = "node-0", .user = "root", .host_key = key}, {"gpu-1.rack", "ada", key}}};
}

} // namespace

TEST_CASE("entries, with paths that need quotes") {
    const auto text = ssh_entries(some())->text;
    check_golden("own_ssh/entries.txt", text);
    CHECK(entry_names(text) == std::vector<std::string>{"demo.node-0", "demo.gpu-1.rack"});
    CHECK(entry_names("").empty());
}

TEST_CASE("entries say what they are of") {
    const auto origin = entries_origin(ssh_entries(some())->text);
    CHECK(origin.prefix == "demo");
    CHECK(origin.machine == "desk");
    CHECK(origin.file == some().file);
    CHECK(origin.key == some().key);
    // A path that the remark cannot show as it is.
    auto strange = some();
    strange.file = "/home/ada/\x1b[2J/cluster.yaml";
    CHECK(entries_origin(ssh_entries(strange)->text).file.empty());
    for (const auto* none : {"", "Host a\n    IdentityFile /b\n", "# dockdist: cluster demo\n# prefix:\n"}) {
        CAPTURE(none);
        const auto unknown = entries_origin(none);
        CHECK((unknown.prefix + unknown.machine + unknown.file + unknown.key).empty());
    }
}

TEST_CASE("a path that no configuration can hold is refused") {
    for (const auto* path : {"/a\"b", "/a\nProxyCommand evil", "/a\\b", "/a${HOME}"}) {
        CAPTURE(path);
        auto entries = some();
        entries.key = path;
        CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
    }
    for (auto SshEntries::* const word : {&SshEntries::file, &SshEntries::program}) {
        auto entries = some();
        entries.*word = "/a\nHost *";
        CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
    }
    auto entries = some();
    entries.environment.emplace_back("DOCKER_HOST=a\nHost *");
    CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
    entries = some();
    entries.program = "/opt/a=b/dockdist"; // for `env` a variable
    CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
}

TEST_CASE("a node adds no line of its own, and keeps no other from having its entry") {
    for (const auto& node :
         {SshNode{"node-0", "root\n    ProxyCommand evil", key}, SshNode{"node-0", "-oX", key},
          SshNode{"node-0", "", key}, SshNode{"node-0", "root", key + "\n* " + key},
          SshNode{"node 0", "root", key}, SshNode{"*", "root", key}}) {
        auto entries = some();
        const auto whole = ssh_entries(entries)->text;
        entries.nodes.insert(entries.nodes.begin() + 1, node);
        const auto made = ssh_entries(entries);
        REQUIRE(made.has_value());
        CHECK(made->text == whole);
        CHECK(made->nodes.size() == 2);
        REQUIRE(made->refused.size() == 1);
        CHECK(made->refused.front().kind == ErrorKind::protocol);
    }
    CHECK_FALSE(with_host_key("", "node-0", key + "\n").has_value());
    CHECK_FALSE(with_host_key("", "*", key).has_value());
}

TEST_CASE("a node has one host key, the newest") {
    const auto first = with_host_key("", "node-0", key).value();
    CHECK(first == "node-0 " + key + "\n");
    const auto both = with_host_key(first, "node-1", key).value();
    CHECK(both == "node-0 " + key + "\nnode-1 " + key + "\n");
    CHECK(with_host_key(both, "node-0", key).value() == both);
    const std::string other = "ssh-ed25519 BBBB";
    CHECK(with_host_key(both, "node-0", other).value() == "node-1 " + key + "\nnode-0 " + other + "\n");
}

TEST_CASE("a configuration gets one line at its top, and is as it was without it") {
    for (const std::string config :
         {"", "Host *\n    User ada\n", "# mine\r\nHost a\r\n", "User x", "\n\nHost a\n\n"}) {
        CAPTURE(config);
        const auto with = with_include(config, pattern);
        REQUIRE(with.has_value());
        CHECK(with->find("Include " + pattern + "\n") < with->size());
        CHECK_FALSE(with_include(*with, pattern).has_value());
        CHECK(without_include(*with, pattern) == config);
        CHECK_FALSE(without_include(config, pattern).has_value());
    }
}

TEST_CASE("an Include that comes too late is of no use, and one of the user's own stays") {
    const auto own = "Include " + pattern + "\n";
    for (const std::string before : {"", "# mine\n\n", "  include ~/.orb/config\r\n", "INCLUDE=other\n"}) {
        CAPTURE(before);
        CHECK_FALSE(with_include(before + own + "Host a\n", pattern).has_value());
    }
    for (const std::string before : {"User x\n", "Host a\n", "host\ta\n", "Match all\n", "match=all\n"}) {
        CAPTURE(before);
        const auto with = with_include(before + own, pattern);
        REQUIRE(with.has_value());
        CHECK(with->ends_with("\n\n" + before + own));
        CHECK(without_include(*with, pattern) == before + own);
    }
    CHECK_FALSE(without_include(own, pattern).has_value());
}

} // namespace ssh_entries_test
