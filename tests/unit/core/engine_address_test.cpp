#include "fakes/show.hpp"
#include "shared/core/engine_address.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace engine_address_test {

using namespace dockdist;
using Scheme = EngineAddress::Scheme;

namespace {

EngineAddress parsed(const std::string& url) {
    const auto address = parse_engine_address(url);
    REQUIRE_MESSAGE(address, url);
    CHECK(address->url == url);
    return *address;
}

std::string refusal(const std::string& url) {
    const auto address = parse_engine_address(url);
    REQUIRE_MESSAGE(!address, url);
    CHECK(address.error().kind == ErrorKind::config);
    CHECK_FALSE(address.error().hint.empty());
    return address.error().message;
}

} // namespace

TEST_CASE("a unix socket") {
    const auto address = parsed("unix:///var/run/docker.sock");
    CHECK(address.scheme == Scheme::unix_socket);
    CHECK(address.path == "/var/run/docker.sock");
    CHECK(address.port == Port{0});
}

TEST_CASE("tcp, with and without a port") {
    CHECK(parsed("tcp://10.0.0.1:2376").port == Port{2376});
    CHECK(parsed("tcp://10.0.0.1").port == Port{2375});
    CHECK(parsed("tcp://node_1.example.org/").host == "node_1.example.org");
}

TEST_CASE("IPv6 addresses stand in brackets, and lose them") {
    const auto address = parsed("tcp://[fe80::1%eth0]:2375");
    CHECK(address.host == "fe80::1%eth0");
    CHECK(address.port == Port{2375});
    CHECK(parsed("ssh://ops@[::1]").host == "::1");
    CHECK(refusal("tcp://::1:2375") == "engine address 'tcp://::1:2375': an IPv6 address needs brackets");
    CHECK(refusal("tcp://[nonsense]:1") ==
          "engine address 'tcp://[nonsense]:1': the address in brackets is not IPv6");
    CHECK(refusal("tcp://[::1]x") == "engine address 'tcp://[::1]x': after ']' only a port may follow");
}

TEST_CASE("ssh, with user, port and the socket's path") {
    const auto address = parsed("ssh://ops@node-1:2222/run/user/1000/docker.sock");
    CHECK(address.scheme == Scheme::ssh);
    CHECK(address.user == "ops");
    CHECK(address.host == "node-1");
    CHECK(address.port == Port{2222});
    CHECK(address.path == "/run/user/1000/docker.sock");
    CHECK(parsed("ssh://node-1").port == Port{}); // what ssh_config says holds
}

TEST_CASE("a node of a Slurm allocation, with the socket's path or an engine of one's own") {
    CHECK(parsed("srun://gpu-1.cluster").scheme == Scheme::srun);
    const auto address = parsed("srun://gpu-1/run/user/1000/docker.sock");
    CHECK(address.host == "gpu-1");
    CHECK(address.path == "/run/user/1000/docker.sock");
    CHECK(address.port == Port{});
    CHECK(parsed("srun+podman://gpu-1/").scheme == Scheme::srun_podman);
    CHECK(refusal("srun+podman://gpu-1/a.sock") ==
          "engine address 'srun+podman://gpu-1/a.sock': a path has no "
          "meaning here: the socket is dockdist's own");
    CHECK(refusal("srun://ops@gpu-1") ==
          "engine address 'srun://ops@gpu-1': a user has no meaning here: a step runs as the one whose "
          "allocation it is");
    for (const auto* node : {"gpu-1:22", "[::1]", "-x", "a,b", "gpu[1-2]"}) {
        CHECK(refusal(std::string("srun://") + node) ==
              fmt::format(
                  "engine address 'srun://{0}': '{0}' is not the name of a node of Slurm; a port has no "
                  "meaning here",
                  node));
    }
    CHECK(refusal("srun://") == "engine address 'srun://': it names no node");
}

TEST_CASE("what an option-hungry program could misread is refused") {
    CHECK(
        refusal("ssh://-oProxyCommand=touch") ==
        "engine address 'ssh://-oProxyCommand=touch': '-oProxyCommand=touch' is not a host name or address");
    CHECK(refusal("ssh://-l@host") == "engine address 'ssh://-l@host': '-l' is not a user name");
    CHECK(refusal("ssh://a;b@host") == "engine address 'ssh://a;b@host': 'a;b' is not a user name");
    CHECK(refusal("ssh://$(touch)") ==
          "engine address 'ssh://$(touch)': '$(touch)' is not a host name or address");
    CHECK(refusal("tcp://[fe80::1%-x]:1") ==
          "engine address 'tcp://[fe80::1%-x]:1': the address in brackets is not IPv6");
}

TEST_CASE("control characters are refused, and not printed") {
    CHECK(refusal("tcp://a\nHost: evil") ==
          "engine address 'tcp://a\\x0aHost: evil': it holds a space or a control character");
}

TEST_CASE("a password in the address is refused, and not printed") {
    CHECK(refusal("ssh://ops:secret@host") ==
          "engine address 'ssh://…@host': a password in the address is refused");
    CHECK(refusal("ssh://ops:sec?ret@host") ==
          "engine address 'ssh://…@host': a query or fragment has no meaning here");
}

TEST_CASE("schemes that are not ours") {
    CHECK(refusal("10.0.0.1:2375") == "engine address '10.0.0.1:2375': it has no scheme");
    CHECK(refusal("https://10.0.0.1") ==
          "engine address 'https://10.0.0.1': the scheme https:// is not known");
    CHECK(refusal("npipe:////./pipe") ==
          "engine address 'npipe:////./pipe': the scheme npipe:// is not supported");
    CHECK(refusal("") == "engine address '': it has no scheme");
}

TEST_CASE("parts that have no meaning are refused") {
    CHECK(refusal("tcp://a/path") == "engine address 'tcp://a/path': a path has no meaning here");
    CHECK(refusal("tcp://u@a") == "engine address 'tcp://u@a': a user has no meaning here");
    CHECK(refusal("tcp://a?x=1") == "engine address 'tcp://a?x=1': a query or fragment has no meaning here");
    CHECK(refusal("unix://relative") ==
          "engine address 'unix://relative': a unix socket needs an absolute path");
    CHECK(refusal("unix:///" + std::string(200, 'x')).find("longer than a unix socket may have") !=
          std::string::npos);
}

TEST_CASE("ports from 1 to 65535") {
    for (const std::string port : {"0", "65536", "", "x", "22x", "-1"}) {
        CHECK(refusal("tcp://a:" + port) ==
              "engine address 'tcp://a:" + port + "': '" + port + "' is not a port (1 to 65535)");
    }
    CHECK(refusal("tcp://:1") == "engine address 'tcp://:1': it names no host");
}

} // namespace engine_address_test
