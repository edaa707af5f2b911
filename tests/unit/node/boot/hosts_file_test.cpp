#include "golden.hpp"
#include "node/boot/node_files.hpp"
#include "unit/node/some_members.hpp"

namespace hosts_file_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const std::string debian_hosts = "127.0.0.1\tlocalhost a-0\n"
                                 "127.0.1.1\tmachine-1.example.org machine-1\n"
                                 "# a comment with machine-1 in it\n"
                                 "::1 localhost ip6-localhost ip6-loopback\n"
                                 "192.168.7.7 storage\n";

}

TEST_CASE("a node's names never resolve to loopback") {
    const auto members = some_members();
    check_golden("node/hosts", mend_hosts(debian_hosts, members.nodes[0], members));
}

TEST_CASE("joining again changes nothing") {
    const auto members = some_members();
    const auto once = mend_hosts(debian_hosts, members.nodes[2], members);
    CHECK(mend_hosts(once, members.nodes[2], members) == once);
}

TEST_CASE("joining again changes nothing where another line holds the machine's longer name") {
    auto members = some_members();
    members.nodes[0].hostname = "machine";
    const auto once = mend_hosts("127.0.0.1 localhost machine.lab\n", members.nodes[0], members);
    CHECK(once.find("10.0.0.1\ta-0 machine machine.lab\n") != std::string::npos);
    CHECK(mend_hosts(once, members.nodes[0], members) == once);
}

TEST_CASE("joining a changed cluster replaces the block") {
    auto members = some_members();
    const auto before = mend_hosts("127.0.0.1 localhost\n", members.nodes[0], members);
    members.nodes[2].address = "10.0.0.9";
    const auto after = mend_hosts(before, members.nodes[0], members);
    CHECK(after.find("10.0.0.9\tb") != std::string::npos);
    CHECK(after.find("10.0.0.2") == std::string::npos);
}

TEST_CASE("a hostname that two machines have is nobody's but their own") {
    auto members = some_members();
    members.nodes[0].hostname = members.nodes[1].hostname = members.nodes[2].hostname = "ubuntu";
    const auto hosts = mend_hosts("127.0.0.1 localhost\n", members.nodes[2], members);
    CHECK(hosts.find("10.0.0.2\tb ubuntu\n") != std::string::npos);
    CHECK(hosts.find("10.0.0.1\ta-0\n") != std::string::npos);
}

TEST_CASE("a machine that has another node's name is found by its own") {
    auto members = some_members();
    members.nodes[0].hostname = members.nodes[1].node;
    const auto hosts = mend_hosts(debian_hosts, members.nodes[0], members);
    CHECK(hosts.find(members.nodes[1].address + "\t" + members.nodes[1].node) != std::string::npos);
    CHECK(hosts.find(members.nodes[0].address + "\t" + members.nodes[0].node) != std::string::npos);
}

TEST_CASE("localhost is never taken for a machine's name") {
    auto members = some_members();
    members.nodes[0].hostname = "localhost";
    const auto hosts = mend_hosts("127.0.0.1 localhost\n", members.nodes[0], members);
    CHECK(hosts.find("127.0.0.1 localhost\n") != std::string::npos);
    CHECK(hosts.find("10.0.0.1\ta-0\n") != std::string::npos);
}

TEST_CASE("a hostname cannot inject a line") {
    auto members = some_members();
    members.nodes[1].hostname = "x\n1.2.3.4 github.com";
    CHECK(mend_hosts("", members.nodes[0], members).find("github") == std::string::npos);
}

TEST_CASE("an empty file and an unfinished block are survived") {
    const auto members = some_members();
    CHECK(mend_hosts("", members.nodes[0], members).ends_with("# dockdist: end\n"));
    CHECK(
        mend_hosts("# dockdist: the cluster's nodes\n1.1.1.1 b", members.nodes[0], members).find("1.1.1.1") ==
        std::string::npos);
}

} // namespace hosts_file_test
