#include "node/session/ssh_target.hpp"
#include "unit/node/some_members.hpp"

#include <doctest/doctest.h>

namespace ssh_target_test {

using namespace dockdist::node;
using Words = std::vector<std::string>;

namespace {

std::string destination(const Words& arguments) {
    const auto line = read_ssh_line(arguments);
    return line ? line->host : "";
}

std::vector<std::string> nothing(const std::string&) {
    return {};
}

std::string found(const std::string& host, int port) {
    return node_at(some_members(), {host, port}, nothing);
}

std::string moved(const Words& arguments) {
    std::string text;
    for (const auto& word : to_node(arguments, read_ssh_line(arguments).value(), "a-1", "/config")) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

} // namespace

TEST_CASE("the destination of an ssh command line") {
    CHECK(destination({"node-1", "true"}) == "node-1");
    CHECK(destination({"root@node-1"}) == "node-1");
    CHECK(destination({"ssh://root@node-1:2222/"}) == "node-1");
    CHECK(destination({"-x", "-p", "22", "node-1", "-p"}) == "node-1");
    CHECK(destination({"-lroot", "-o", "ConnectTimeout=5", "-oBatchMode=yes", "node-1"}) ==
          "node-1"); // pdsh, mpirun
    CHECK(destination({"-xTp", "22", "node-1"}) == "node-1");
    CHECK(destination({"-x", "--", "node-1", "sftp"}) == "node-1"); // scp
    CHECK(destination({"-V"}).empty());
    CHECK(destination({"--"}).empty());
    CHECK(destination({}).empty());
}

TEST_CASE("a command line that brings its own configuration is known as such") {
    CHECK(read_ssh_line({"-F", "none", "node-1"})->own_config);
    CHECK(read_ssh_line({"-F/dev/null", "node-1"})->own_config);
    CHECK(read_ssh_line({"-xF", "config", "node-1"})->own_config);
    CHECK_FALSE(read_ssh_line({"-l", "F", "node-1"})->own_config);
}

TEST_CASE("where ssh would connect to") {
    const auto goal = read_ssh_goal("user root\nhostname 10.0.0.1\nport 2223\naddkeystoagent false\n");
    REQUIRE(goal.has_value());
    CHECK(goal->host == "10.0.0.1");
    CHECK(goal->port == 2223);
    CHECK_FALSE(read_ssh_goal("hostname 10.0.0.1\nport 2223\nproxyjump gate\n").has_value());
    CHECK_FALSE(read_ssh_goal("hostname 10.0.0.1\nport 2223\nproxycommand nc %h %p\n").has_value());
    CHECK(read_ssh_goal("hostname 10.0.0.1\nport 2223\nproxycommand none\n").has_value());
    CHECK_FALSE(read_ssh_goal("usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy]\n").has_value());
    CHECK(read_ssh_goal("hostname 10.0.0.1:2223\nport 22\n")->port == 2223); // of a hostfile
}

TEST_CASE("a host with a port, as hostfiles have it") {
    CHECK(read_host_and_port("host1:2222")->host == "host1");
    CHECK(read_host_and_port("host1:2222")->port == 2222);
    CHECK(read_host_and_port("[fd00::1]:2222")->host == "fd00::1");
    for (const auto* text : {"host1", "host1:", ":2222", "host1:ssh", "host1:0", "host1:65536", "host1:-1",
                             "fd00::1", "host1:22x", "[]:22", ""}) {
        CAPTURE(text);
        CHECK_FALSE(read_host_and_port(text).has_value());
    }
}

TEST_CASE("whatever resolves to a node's address and port is that node") {
    CHECK(found("10.0.0.1", 2222) == "a-0");
    CHECK(found("10.0.0.1", 2223) == "a-1");
    CHECK(found("10.0.0.1", 22).empty()); // the host's own sshd
    CHECK(found("10.0.0.3", 2222).empty());
    CHECK(found("a-1", 2223) == "a-1");
    CHECK(found("worker", 2222).empty());
}

TEST_CASE("a name is resolved only where a node has that port") {
    int asked = 0;
    const auto resolve = [&](const std::string& name) {
        ++asked;
        return name == "gpu-2.lab" ? Words{"10.9.9.9", "10.0.0.2"} : Words{};
    };
    CHECK(node_at(some_members(), {"gpu-2.lab", 22}, resolve) == "b");
    CHECK(node_at(some_members(), {"gpu-3.lab", 2222}, resolve).empty());
    CHECK(asked == 2);
    CHECK(node_at(some_members(), {"gpu-2.lab", 2022}, resolve).empty());
    CHECK(node_at(some_members(), {"10.0.0.9", 2222}, resolve).empty());
    CHECK(asked == 2);
}

TEST_CASE("a machine's own name is the node there, and localhost this one, where no port is said") {
    auto members = some_members();
    members.nodes[0].hostname = members.nodes[1].hostname = "gpu-1";
    members.nodes[2].hostname = "gpu-2.lab";
    const auto meant = [&](const std::string& host, int port = 22) {
        return node_of_machine(members, {host, port}, "a-1");
    };
    CHECK(meant("localhost") == "a-1");
    CHECK(meant("127.0.0.1") == "a-1");
    CHECK(meant("gpu-2.lab") == members.nodes[2].node);
    CHECK(meant("gpu-2") == members.nodes[2].node);
    CHECK(meant("gpu-2", 2222).empty());
    CHECK(meant("localhost", 2022).empty());
    CHECK(meant("gpu-1").empty()); // of two
    CHECK(meant("gpu-3").empty());
    CHECK(meant("10.0.0.1").empty()); // the host's own sshd
}

TEST_CASE("the command line to a node keeps user, options and command") {
    CHECK(moved({"worker2", "hostname"}) == "-F /config a-1 hostname");
    CHECK(moved({"-p", "2223", "ubuntu@10.0.0.1", "-v"}) == "-p 2223 -F /config ubuntu@a-1 -v");
    CHECK(moved({"-x", "-l", "root", "--", "worker2", "sftp"}) == "-x -l root -F /config -- a-1 sftp");
    CHECK(moved({"ssh://root@worker2:2223"}) == "-F /config root@a-1");
    CHECK(moved({"-F", "mine", "worker2"}) == "-F mine -F /config a-1"); // ssh takes the last one
}

TEST_CASE("the way of ssh-copy-id is ssh's") {
    CHECK(ssh_line_of_copy_id({"-i", "key.pub", "-p", "2222", "root@10.0.0.1"}) ==
          Words{"-p", "2222", "root@10.0.0.1"});
    CHECK(ssh_line_of_copy_id({"-o", "Port=2222", "worker2"}) == Words{"-o", "Port=2222", "worker2"});
    CHECK(ssh_line_of_copy_id({"-f", "worker2"}) == Words{"worker2"});
    CHECK(ssh_line_of_copy_id({"-h"}).empty());
    CHECK(ssh_line_of_copy_id({}).empty());
}

} // namespace ssh_target_test
