// The little HTTP/1.1 that an engine speaks to its host's relay: a registry's read API, of which this takes
// requests' heads. Boost.Beast reads them.
#pragma once

#include "node/relay/relay_admission.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::node {

struct RelayHttpRequest {
    std::string path{};
    std::string authorization{};
    std::int64_t offset = 0; // of "Range: bytes=N-"
    bool wants_body = true;  // GET; false: HEAD
    bool keep_alive = true;
};

// The head of a request out of `bytes`, from their begin; nothing: more has to come. Errors: protocol (a head
// above 16 KiB, no HTTP, a TLS hello, a body, another method).
Result<std::optional<RelayHttpRequest>> take_relay_http(std::string& bytes);

// The digest in "/v2/NAME/blobs/DIGEST"; empty for other paths.
std::string blob_in_path(std::string_view path);
bool is_manifest_path(std::string_view path);

// "Basic …" of the relays' user and the token.
std::string relay_authorization(std::string_view token);

// A whole answer. `headers` end with their "\r\n"; of a HEAD's, `body` is only counted.
std::string relay_answer(std::string_view status, std::string_view headers, std::string_view body,
                         bool wants_body = true);
std::string relay_refusal(); // 401, with what to log in for
// 400, to a TLS hello: engines try TLS first, and those with containerd's image store go on to plain HTTP
// only where the first answer looks like it (containerd, core/remotes/docker/resolver.go).
std::string relay_no_tls();

// A connection that wants to be the engine's: until a request with the login comes.
class EngineStranger : public Stranger {
public:
    explicit EngineStranger(std::string authorization) : authorization_(std::move(authorization)) {}
    Verdict hear(std::string_view bytes, std::string& answer) override;
    // Once it is let in.
    const RelayHttpRequest& request() const { return request_; }
    std::string& rest() { return bytes_; } // what came behind the request

private:
    std::string authorization_, bytes_{};
    RelayHttpRequest request_{};
};

} // namespace dockdist::node
