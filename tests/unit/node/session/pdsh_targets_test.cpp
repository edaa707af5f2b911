#include "node/session/pdsh_targets.hpp"
#include "node/system/os.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

namespace pdsh_targets_test {

using namespace dockdist::node;
using Words = std::vector<std::string>;

namespace {

std::string node_at(const std::string& host, int port) {
    return host == "10.0.0.1" && port == 2222 ? "node-0" : host == "10.0.0.2" && port == 2222 ? "node-1" : "";
}

std::string complaint(const Words& arguments, const std::string& wcoll = "") {
    return complaint_about_ports(arguments, wcoll, node_at).value_or("");
}

} // namespace

TEST_CASE("pdsh's targets") {
    CHECK(pdsh_targets({"-w", "a,b[1,2]", "echo", "-w", "c"}) == Words{"a", "b[1,2]"});
    CHECK(pdsh_targets({"-S", "-f", "1024", "-wa,b", "-x", "b"}) == Words{"a", "b", "b"});
    CHECK(pdsh_targets({"-Sw", "a"}) == Words{"a"});
    CHECK(pdsh_targets({"-w"}).empty());
    CHECK(pdsh_targets({"hostname"}).empty());
}

TEST_CASE("targets with ports are told, with what to type") {
    CHECK(complaint({"-S", "-w", "10.0.0.1:2222,root@10.0.0.2:2222", "true"}) ==
          "10.0.0.1:2222: pdsh does not support ports; type `-w node-0,node-1`, and such names in a "
          "hostfile: dockdist's ssh knows the nodes' ports");
    CHECK(complaint({"-w", "node-0,other[1-2]:22", "true"}) ==
          "other1:22: pdsh does not support ports; type `-w node-0,other1,other2`, and such names in a "
          "hostfile: dockdist's ssh knows the nodes' ports (and `Port` in ~/.ssh/config that of other1)");
}

TEST_CASE("targets without ports are pdsh's own business") {
    for (const auto* targets : {"node-0", "node-[0-1]", "ssh:node-0", "root@node-0", "ssh:root@node-0",
                                "fd00::1", "-", "a[", "^/no/such/file", "/regex/"}) {
        CAPTURE(targets);
        CHECK(complaint({"-w", targets, "true"}).empty());
    }
    CHECK(complaint({"echo", "-w", "10.0.0.1:2222"}).empty());
}

TEST_CASE("files of targets are looked at too") {
    const Scratch scratch;
    REQUIRE(replace_file(scratch / "hosts", "# two\n10.0.0.1:2222 slots=2\n\nnode-1\n", 0600,
                         {::geteuid(), ::getegid()})
                .has_value());
    CHECK(complaint({"-w", "^" + (scratch / "hosts"), "true"})
              .starts_with("10.0.0.1:2222: pdsh does not support ports; type `-w node-0,node-1`"));
    CHECK(complaint({"true"}, scratch / "hosts").starts_with("10.0.0.1:2222: "));
    CHECK(complaint({"-w", "node-1", "true"}, scratch / "hosts").empty());
}

} // namespace pdsh_targets_test
