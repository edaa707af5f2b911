#include "client/engine/engine_error.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "fakes/show.hpp"
#include "shared/core/ascii.hpp"

#include <boost/asio/error.hpp>
#include <doctest/doctest.h>

namespace engine_hints_test {

using namespace dockdist;

TEST_CASE("what to do on a host is said in the words of its engine") {
    const std::string no_tls = "http: server gave HTTP response to HTTPS client";
    CHECK(engine_hint(no_tls, false).find("/etc/docker/daemon.json") != std::string::npos);
    CHECK(engine_hint(no_tls, true) ==
          "that registry has no TLS: give it a [[registry]] with `insecure = true` in "
          "the host's /etc/containers/registries.conf");
    for (const std::string message :
         {"x509: certificate signed by unknown authority", "no space left on device",
          "error setting rlimit type 8", "mkdir /x: permission denied"}) {
        CAPTURE(message);
        CHECK(to_lower(engine_hint(message, false)).find("docker") != std::string::npos);
        const auto of_podman = to_lower(engine_hint(message, true));
        CHECK_FALSE(of_podman.empty());
        CHECK(of_podman.find("docker") == std::string::npos);
    }
    const std::string system = "create x: SELinux relabeling of /etc is not allowed";
    CHECK(engine_hint(system, false).find("mount one below it") != std::string::npos);
    CHECK(engine_hint("relabel failed \"/x\": lsetxattr /x: operation not permitted", true)
              .find("is it its user's own?") != std::string::npos);
    for (const std::string of_runc : // Docker 20.10, 26.1
         {"unable to start container process: exec /opt/dockdist/bin/dockdist-init: permission denied: "
          "unknown",
          "unable to start container process: exec: \"/opt/dockdist/bin/dockdist-init\": permission "
          "denied"}) {
        CHECK(engine_hint(of_runc, false).find("mounted `noexec`") != std::string::npos);
    }
    CHECK(engine_hint("unable to create manifests file: NotFound: content digest sha256:ab: not found", false)
              .find("name another host in `image.from`") != std::string::npos);
    CHECK(engine_hint("Source image rejected: Running image docker://x is rejected by policy.", true)
              .find("/etc/containers/policy.json") != std::string::npos);
    CHECK(engine_hint("manifest unknown", true) == engine_hint("manifest unknown", false));
}

TEST_CASE("a name in .local that does not resolve is told as one of multicast DNS") {
    const auto hint = [](const std::string& host) {
        return connect_error({.scheme = EngineAddress::Scheme::tcp, .host = host, .url = "tcp://" + host},
                             boost::asio::error::host_not_found)
            .hint;
    };
    CHECK(hint("gpu1.local").find("multicast DNS") != std::string::npos);
    CHECK(hint("gpu1.lan").find("multicast DNS") == std::string::npos);
}

TEST_CASE("what an authorization plugin refuses is told with the plugin, the call, and whom to ask") {
    const HttpResponse answer{
        403, {}, R"({"message":"authorization denied by plugin opa: not for you: ever"})"};
    HttpRequest request;
    request.method = "POST";
    request.target = "/containers/" + std::string(64, 'a') + "/exec?x=" + std::string(64, 'b');
    CHECK(request_in_words(request) == "POST /containers/ID/exec");
    const auto error = engine_error(answer, {.what = "start x", .request = request_in_words(request)});
    CHECK(error ==
          Error{ErrorKind::engine, "", "start x: authorization denied by plugin opa: not for you: ever",
                "ask the administrator of that host to let its authorization plugin opa pass this call: POST "
                "/containers/ID/exec"});
    CHECK(authorization_hint("authorization denied by plugin a\x1b[2J: x", "") ==
          "ask the administrator of that host to let its authorization plugin a\\x1b[2J pass this call");
    CHECK(authorization_hint("plugin opa failed with error: AuthZPlugin.AuthZReq: dial unix: refused",
                             "GET /info") ==
          "tell the administrator of that host that its authorization plugin opa "
          "does not work: nothing passes without it");
    CHECK(authorization_hint("pull access denied for x", "").empty());
    CHECK(authorization_hint("plugin x failed with error: no driver", "").empty());
}

} // namespace engine_hints_test
