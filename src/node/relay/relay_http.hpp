// The little HTTP/1.1 that image relays need, over blocking sockets: a registry's read API for the engine and
// the relays behind, and the reading of a relay before.
#pragma once

#include "core/result.hpp"
#include "node/system/os.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::node {

struct RelayHttpRequest {
    std::string method{}, path{};
    std::string authorization{};
    std::int64_t offset = 0; // of "Range: bytes=N-"
};

// The head of a request, up to its empty line; nothing when it is none that we take.
std::optional<RelayHttpRequest> parse_relay_http(std::string_view head);

// The digest in "/v2/NAME/blobs/DIGEST" or "/v2/NAME/manifests/DIGEST"; empty for other paths.
std::string blob_in_path(std::string_view path);
bool is_manifest_path(std::string_view path);

// "Basic …" of the relays' user and the token.
std::string relay_authorization(std::string_view token);
// Takes as long whatever differs.
bool same_secret(std::string_view a, std::string_view b);

// A request's head from a connection; nothing at its end, for a TLS hello, or for more than 16 KiB.
std::optional<std::string> read_head(int connection);

// A connection to another relay on which the answer to a GET begins: its head was 200 or 206, `begin` is what
// came behind it. `upstream` is "ADDRESS PORT". One whose machine is gone is noticed by keepalive.
struct RelayAnswer {
    Fd connection{};
    std::string begin{};
};
Result<RelayAnswer> ask_relay(const std::string& upstream, const std::string& path, std::int64_t offset,
                              std::string_view token);

// Reads a blob of another relay from `offset` on, giving each piece to `take` as it comes; ends when `take`
// says so.
Status read_from_relay(const std::string& upstream, const std::string& digest, std::int64_t offset,
                       std::string_view token, const std::function<Status(std::string_view)>& take);

// Listens on a numeric address, on a free port; `port` is set. Not open when that fails.
Fd listen_on(const std::string& address, int& port);

} // namespace dockdist::node
