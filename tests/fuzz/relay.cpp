// What comes to an image relay from the network before it knows from whom: the engine's requests, and what
// wants to be another relay.
#include "fuzz/fuzz.hpp"
#include "node/relay/relay_channel.hpp"
#include "node/relay/relay_http.hpp"

#include <algorithm>

namespace {

using namespace dockdist;
using namespace dockdist::node;

constexpr const char* login = "token";
constexpr std::size_t longest_head = 16 * 1024;

void path(std::string_view text) {
    const auto digest = blob_in_path(text);
    fuzz::require(digest.empty() || text.ends_with(digest), "a blob's digest stands at the path's end");
    (void)is_manifest_path(text);
}

void head(std::string bytes) {
    const auto before = bytes.size();
    const auto request = take_relay_http(bytes);
    if (!request) {
        return;
    }
    if (!*request) {
        fuzz::require(before <= longest_head, "a head that is too long is not waited for");
        return;
    }
    const auto one_word = [](const std::string& text) {
        return std::ranges::none_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7f; });
    };
    fuzz::require(bytes.size() < before, "a request takes its bytes away");
    fuzz::require((*request)->offset >= 0, "no offset is negative");
    fuzz::require(one_word((*request)->path), "a path is one word");
    fuzz::require((*request)->authorization.find_first_of("\r\n") == std::string::npos,
                  "a login is one line");
    path((*request)->path);
}

// The input, in one piece and byte by byte: the same verdict.
template <class Make>
Stranger::Verdict heard(const Make& make, std::string_view input) {
    std::string at_once;
    auto one = make();
    const auto verdict = one.hear(input, at_once);
    auto other = make();
    std::string in_pieces;
    auto last = Stranger::Verdict::unknown;
    for (std::size_t at = 0; at < input.size() && last == Stranger::Verdict::unknown; ++at) {
        last = other.hear(input.substr(at, 1), in_pieces);
    }
    // A head that is wrong is known so when all of it is there, or before.
    fuzz::require((verdict == Stranger::Verdict::let_in) == (last == Stranger::Verdict::let_in),
                  "who is let in does not depend on how the bytes come");
    return verdict;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    head(std::string(input));
    path(input);
    const auto authorization = relay_authorization(login);
    const bool engine =
        heard([&] { return EngineStranger(authorization); }, input) == Stranger::Verdict::let_in;
    require(!engine ||
                input.find(authorization.substr(authorization.find(' ') + 1)) != std::string_view::npos,
            "nobody comes in without the login");
    if (input.starts_with('\x16')) {
        std::string answer;
        require(EngineStranger(authorization).hear(input, answer) == Stranger::Verdict::send_away &&
                    answer == relay_no_tls(),
                "a TLS hello is answered in plain HTTP");
    }
    const RelayStranger::Keys keys{{7, relay_key(std::string(64, 'a'))}};
    require(heard([&] { return RelayStranger(keys); }, input) != Stranger::Verdict::let_in,
            "nobody comes in who does not have the pair's key");
    SealedReader reader(keys.at(7), largest_relay_request);
    reader.add(input);
    const auto message = reader.next();
    require(!message || !*message, "nothing is read that was not sealed");
}

std::vector<std::string> fuzz::seeds() {
    const std::string digest = "sha256:" + std::string(64, 'a');
    std::vector<std::string> all{"/v2/x/y/blobs/" + digest, "/v2/x/manifests/latest"};
    for (const auto* method : {"GET", "HEAD", "POST"}) {
        all.push_back(std::string(method) + " /v2/x/blobs/" + digest +
                      " HTTP/1.1\r\nHost: 127.0.0.1:5000\r\nAuthorization: " + relay_authorization(login) +
                      "\r\nRange: bytes=100-\r\nConnection: close\r\n\r\n");
    }
    all.push_back("GET /v2/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
    all.push_back("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    all.push_back(relay_hello(7, relay_random()) + std::string(60, 'x'));
    return all;
}
