#include "node/wrappers.hpp"

#include <doctest/doctest.h>

using dockdist::node::ssh_destination;

TEST_CASE("the destination of an ssh command line") {
    CHECK(ssh_destination({"node-1", "true"}) == "node-1");
    CHECK(ssh_destination({"root@node-1"}) == "node-1");
    CHECK(ssh_destination({"ssh://root@node-1:2222/"}) == "node-1");
    CHECK(ssh_destination({"-x", "-p", "22", "node-1", "-p"}) == "node-1");
    CHECK(ssh_destination({"-lroot", "-o", "ConnectTimeout=5", "-oBatchMode=yes", "node-1"}) ==
          "node-1"); // pdsh, mpirun
    CHECK(ssh_destination({"-xTp", "22", "node-1"}) == "node-1");
    CHECK(ssh_destination({"-x", "--", "node-1", "sftp"}) == "node-1"); // scp
    CHECK(ssh_destination({"-V"}).empty());
    CHECK(ssh_destination({}).empty());
}

TEST_CASE("a command line that brings its own configuration keeps it") {
    CHECK(ssh_destination({"-F", "none", "node-1"}).empty());
    CHECK(ssh_destination({"-F/dev/null", "node-1"}).empty());
}
