#include "client/forward/forward_port.hpp"

#include <doctest/doctest.h>

namespace forward_port_test {

using namespace dockdist;
using Kind = wire::TunnelFailure::Kind;

TEST_CASE("a port, what it leads to, and a free one") {
    const auto read = [](const char* text) { return parse_forward_port(text, "PORT").value(); };
    CHECK(read("8888") == ForwardPort{.local = 8888, .target = {.host = "", .port = 8888}});
    CHECK(read("8080:8888") == ForwardPort{.local = 8080, .target = {.host = "", .port = 8888}});
    CHECK(read("0:8888") == ForwardPort{.local = 0, .target = {.host = "", .port = 8888}});
    CHECK(read("8080:db.internal:5432") ==
          ForwardPort{.local = 8080, .target = {.host = "db.internal", .port = 5432}});
    CHECK(read("0:10.0.0.7:1") == ForwardPort{.local = 0, .target = {.host = "10.0.0.7", .port = 1}});
    CHECK(read("8080:[fd00::1]:65535") ==
          ForwardPort{.local = 8080, .target = {.host = "fd00::1", .port = 65535}});
}

TEST_CASE("what is asked for is written as it is read") {
    for (const auto* text : {"0:8888", "8080:db.internal:5432", "8080:[fd00::1]:65535"}) {
        CHECK(forward_port_text(parse_forward_port(text, "PORT").value()) == text);
    }
}

TEST_CASE("what is no port says how one is written") {
    for (const auto* text : {"",
                             "0",
                             "x",
                             "65536",
                             "-1",
                             "+1",
                             " 80",
                             "80 ",
                             "80:",
                             ":80",
                             "80:0",
                             "80:65536",
                             "80:host",
                             "80:host:",
                             "80:host:0",
                             "80::80",
                             "80:fd00::1:80",
                             "80:[fe80::1%eth0]:80",
                             "80:[]:80",
                             "80:a b:80",
                             "80:-x:80",
                             "80:80:80:80x",
                             "80:a\n:80",
                             "0x50"}) {
        CAPTURE(text);
        const auto port = parse_forward_port(text, "PORT");
        REQUIRE_FALSE(port.has_value());
        CHECK(port.error().kind == ErrorKind::usage);
        CHECK(port.error().where == "PORT");
    }
    CHECK(to_text(parse_forward_port("80:\x1b[2J:1", "--forward").error()) ==
          "--forward: `80:\\x1b[2J:1` is not a port to forward\n  write 8888, or 8080:8888 (here : there), "
          "8080:HOST:5432 for what the node reaches, 0:8888 for any free port here");
}

TEST_CASE("why there is no connection") {
    const wire::TunnelTarget own{.host = "", .port = 6006};
    const wire::TunnelTarget other{.host = "db", .port = 5432};
    CHECK(target_text(own, "node-0") == "node-0 port 6006");
    CHECK(target_text(other, "node-0") == "db port 5432 as node-0 sees it");
    CHECK(failure_text({Kind::refused, "Connection refused"}, own, "node-0") ==
          "nothing listens on port 6006 of node-0's loopback yet (what listens on another address there is "
          "reached by "
          "PORT:ADDRESS:6006)");
    CHECK(failure_text({Kind::refused, ""}, other, "node-0") ==
          "db refuses node-0 on port 5432: nothing listens there");
    CHECK(failure_text({Kind::unknown_name, "no \x1b"}, other, "node-0") ==
          "node-0 does not know the name db: no \\x1b");
    CHECK(failure_text({Kind::timeout, ""}, other, "node-0") ==
          "db port 5432 does not answer node-0: a firewall may drop it");
    CHECK(failure_text({Kind::timeout, ""}, own, "node-0") ==
          "what listens on port 6006 of node-0's loopback accepts no connections: it may hang");
    CHECK(failure_text({Kind::unreachable, "No route to host"}, other, "node-0") ==
          "node-0 cannot reach db port 5432: No route to host");
    CHECK(failure_text({Kind::unreachable, "Operation not permitted"}, own, "node-0") ==
          "node-0 cannot reach port 6006 of its own loopback: Operation not permitted");
    CHECK(failure_text({Kind::other, "odd"}, own, "node-0") == "node-0 cannot connect to port 6006: odd");
}

} // namespace forward_port_test
