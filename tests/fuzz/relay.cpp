// What comes to an image relay from the network: requests' heads and paths.
#include "fuzz/fuzz.hpp"
#include "node/relay/relay_http.hpp"
#include "wire/image_relay.hpp"

namespace {

using namespace dockdist;
using namespace dockdist::node;

void path(std::string_view text) {
    const auto digest = blob_in_path(text);
    fuzz::require(digest.empty() || text.ends_with(digest), "a blob's digest stands at the path's end");
    (void)is_manifest_path(text);
}

} // namespace

void fuzz::one_input(std::string_view input) {
    const auto request = parse_relay_http(input);
    if (request) {
        require(request->offset >= 0, "no offset is negative");
        path(request->path);
    }
    path(input);
}

std::vector<std::string> fuzz::seeds() {
    const std::string digest = "sha256:" + std::string(64, 'a');
    std::vector<std::string> all{"/v2/x/y/blobs/" + digest, "/v2/x/manifests/latest"};
    for (const auto* method : {"GET", "HEAD", "POST"}) {
        all.push_back(std::string(method) + " /v2/x/blobs/" + digest +
                      " HTTP/1.1\r\nHost: 127.0.0.1:5000\r\nAuthorization: " + relay_authorization("token") +
                      "\r\nRange: bytes=100-\r\nConnection: close\r\n\r\n");
    }
    all.push_back("GET /v2/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
    return all;
}
