#include "golden.hpp"
#include "own_ssh/ssh_entries.hpp"

#include <doctest/doctest.h>

namespace ssh_entries_test {

using namespace dockdist;

namespace {

const std::string key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk=";
const std::string pattern = "~/.ssh/dockdist/*.conf";

SshEntries some() {
    return {.prefix = "demo",
            .cluster = "demo",
            .program = "/opt/my tools/dockdist",
            .file = "/home/ada/100% 'new'/cluster.yaml",
            .key = "/home/ada/.local/state of things/50%/id_ed25519",
            .known_hosts = "/home/ada/.local/state of things/50%/known_hosts",
            .nodes = {{.node = "node-0", .user = "root", .host_key = key}, {"gpu-1.rack", "ada", key}}};
}

} // namespace

TEST_CASE("entries, with paths that need quotes") {
    check_golden("own_ssh/entries.txt", ssh_entries(some()).value());
    CHECK(entry_names(ssh_entries(some()).value()) ==
          std::vector<std::string>{"demo.node-0", "demo.gpu-1.rack"});
    CHECK(entry_names("").empty());
}

TEST_CASE("a path that no configuration can hold is refused") {
    for (const auto* path : {"/a\"b", "/a\nProxyCommand evil", "/a\\b", "/a${HOME}"}) {
        CAPTURE(path);
        auto entries = some();
        entries.key = path;
        CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
    }
    auto entries = some();
    entries.file = "/a\nHost *";
    CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
}

TEST_CASE("a node adds no line of its own") {
    for (const auto& node :
         {SshNode{"node-0", "root\n    ProxyCommand evil", key}, SshNode{"node-0", "-oX", key},
          SshNode{"node-0", "", key}, SshNode{"node-0", "root", key + "\n* " + key},
          SshNode{"node 0", "root", key}, SshNode{"*", "root", key}}) {
        auto entries = some();
        entries.nodes = {node};
        CHECK(ssh_entries(entries).error().kind == ErrorKind::protocol);
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

TEST_CASE("a folder for the state that is set here goes with the entries") {
    auto entries = some();
    entries.state_home = "/scratch/ada's";
    CHECK(ssh_entries(entries)->find("    ProxyCommand env 'XDG_STATE_HOME=/scratch/ada'\\''s' '/opt/my "
                                     "tools/dockdist' -f ") != std::string::npos);
    entries.state_home = "/a\nHost *";
    CHECK(ssh_entries(entries).error().kind == ErrorKind::config);
}

} // namespace ssh_entries_test
