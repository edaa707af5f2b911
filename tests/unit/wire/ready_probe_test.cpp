#include "shared/wire/ready_probe.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ready_probe_test {

using namespace dockdist;
using wire::http_status;
using wire::parse_ready_probe;

TEST_CASE("what is to answer is a port, and for HTTP a path") {
    const auto health = parse_ready_probe("http://:8000/health?full=1");
    REQUIRE(health.has_value());
    CHECK(health->http);
    CHECK(health->port == 8000);
    CHECK(health->path == "/health?full=1");
    CHECK(health->text() == "http://:8000/health?full=1");
    CHECK(health->address("10.0.0.1") == "http://10.0.0.1:8000");
    CHECK(health->address("fd00::1") == "http://[fd00::1]:8000");
    CHECK(parse_ready_probe("http://:80")->path == "/");
    const auto tcp = parse_ready_probe("tcp://:6379");
    REQUIRE(tcp.has_value());
    CHECK_FALSE(tcp->http);
    CHECK(tcp->address("10.0.0.1") == "tcp://10.0.0.1:6379");
}

TEST_CASE("what it cannot be is refused with what to write") {
    for (const std::string text :
         {"", "8000", ":8000", "http://", "http://:", "http://:0", "http://:70000", "http://:8000x",
          "http://:8000/a b", "http://:8000/a\r\nb", "tcp://:8000/health", "udp://:1"}) {
        CAPTURE(text);
        const auto probe = parse_ready_probe(text);
        REQUIRE_FALSE(probe.has_value());
        CHECK(probe.error().kind == ErrorKind::usage);
        CHECK(probe.error().where == "--ready");
    }
    CHECK(parse_ready_probe("http://10.0.0.1:8000/health").error().hint ==
          "the job's first node asks itself, so there is no host in it: write it like http://:8000/health or "
          "tcp://:8000");
    CHECK(parse_ready_probe("https://:8000/").error().hint ==
          "of a service with TLS the port alone is asked: tcp://:8000");
}

TEST_CASE("the status of an answer, in pieces and damaged") {
    CHECK(http_status("") == 0);
    CHECK(http_status("HTT") == 0);
    CHECK(http_status("HTTP/1.1 200 OK") == 0);
    CHECK(http_status("HTTP/1.1 200 OK\r\n") == 200);
    CHECK(http_status("HTTP/1.0 503\n") == 503);
    CHECK(http_status("SSH-2.0-OpenSSH\r\n") == -1);
    CHECK(http_status("HTTP/2 200\r\n") == -1);
    CHECK(http_status("HTTP/1.1 2\r\n") == -1);
    CHECK(http_status("HTTP/1.1 2x0 OK\r\n") == -1);
    CHECK(http_status("HTTP/1.1 " + std::string(5000, '2')) == -1);
}

} // namespace ready_probe_test
