// What an engine does when it pulls: asks the registry for the manifest, its config and its layers, three at
// a time, and verifies every digest. Layers are counted and thrown away.
#include "client/async/run_all.hpp"
#include "scale/stub_engines/engine_get.hpp"
#include "scale/stub_engines/exchange.hpp"
#include "shared/core/encode.hpp"
#include "shared/digest/sha256.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace dockdist::scale {
namespace {

using nlohmann::json;
struct Registry {
    World& world;
    Host& host;
    int port;
    std::string repository; // its path there
    std::string authorization;
};

// The body of a GET, in pieces; what went wrong, or "".
Task<std::string> fetch(const Registry& from, std::string path, std::function<void(std::string_view)> take) {
    EngineGet get;
    EngineUrl url{.address = "127.0.0.1", .path = "/v2/" + from.repository + path, .port = from.port};
    auto problem = co_await get.begin(from.world, from.host, std::move(url),
                                      "Authorization: " + from.authorization + "\r\n");
    if (problem.empty()) {
        problem = co_await get.read(std::move(take));
    }
    co_return problem;
}

Task<std::string> fetch_text(const Registry& from, std::string path, std::string digest, std::string& text) {
    Sha256 sum;
    auto problem = co_await fetch(from, std::move(path), [&](std::string_view bytes) {
        sum.add(bytes);
        text += bytes;
    });
    if (problem.empty() && sum.digest() != digest) {
        problem = "image verification failed for digest " + digest;
    }
    co_return problem;
}

struct Layers {
    Exchange exchange;
    const Registry& from;
    std::vector<json> left;
    std::string problem{};
};

// One of the three that fetch side by side.
Task<bool> fetch_layers(Layers& layers) {
    const auto& x = layers.exchange;
    while (!layers.left.empty() && layers.problem.empty()) {
        const auto layer = layers.left.front();
        layers.left.erase(layers.left.begin());
        const auto digest = layer.at("digest").get<std::string>();
        const auto size = layer.at("size").get<std::uint64_t>();
        const auto id = digest.substr(7, 12);
        Sha256 sum;
        std::uint64_t count = 0;
        const auto problem = co_await fetch(layers.from, "/blobs/" + digest, [&](std::string_view bytes) {
            sum.add(bytes);
            count += bytes.size();
        });
        if (!problem.empty() || sum.digest() != digest) {
            layers.problem =
                problem.empty() ? "filesystem layer verification failed for digest " + digest : problem;
            break;
        }
        x.world.counters.hosts[static_cast<std::size_t>(x.host.number)].pulled += count;
        const json progress{
            {"status", "Downloading"}, {"id", id}, {"progressDetail", {{"current", count}, {"total", size}}}};
        (void)co_await x.connection->chunk(progress.dump() + "\r\n");
        const json complete{{"status", "Pull complete"}, {"id", id}, {"progressDetail", json::object()}};
        (void)co_await x.connection->chunk(complete.dump() + "\r\n");
    }
    co_return true;
}

std::string basic_authorization(const Request& request) {
    const auto header = request.headers.find("x-registry-auth");
    if (header == request.headers.end()) {
        return "Basic Og==";
    }
    auto text = header->second;
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    const auto login = json::parse(from_base64(text).value_or("{}"), nullptr, false);
    return "Basic " + to_base64(login.value("username", "") + ":" + login.value("password", ""));
}

} // namespace

Task<std::string> pull_from_registry(Exchange x, std::string reference, std::string tag) {
    const auto slash = reference.find('/');
    Registry from{.world = x.world,
                  .host = x.host,
                  .port = std::atoi(reference.c_str() + reference.find(':') +
                                    1), // NOLINT(cert-err34-c): no port is 0, refused
                  .repository = slash == std::string::npos ? "" : reference.substr(slash + 1),
                  .authorization = basic_authorization(x.request)};
    std::string manifest_text;
    if (auto problem = co_await fetch_text(from, "/manifests/" + tag, tag, manifest_text); !problem.empty()) {
        co_return problem;
    }
    const auto manifest = json::parse(manifest_text, nullptr, false);
    const auto config_digest = manifest.value("config", json::object()).value("digest", "");
    std::string config_text;
    if (auto problem = co_await fetch_text(from, "/blobs/" + config_digest, config_digest, config_text);
        !problem.empty()) {
        co_return problem;
    }
    Layers layers{.exchange = x, .from = from, .left = manifest.value("layers", std::vector<json>())};
    const auto image = std::make_shared<Image>();
    for (const auto& layer : layers.left) {
        image->size += layer.value("size", std::uint64_t{0});
    }
    std::vector<Task<bool>> side_by_side;
    for (int i = 0; i < 3; ++i) {
        side_by_side.push_back(fetch_layers(layers));
    }
    co_await run_all(std::move(side_by_side));
    if (!layers.problem.empty()) {
        co_return layers.problem;
    }
    const auto config = json::parse(config_text, nullptr, false);
    image->id = config_digest;
    image->layers = config.value("rootfs", json::object()).value("diff_ids", std::vector<std::string>());
    image->config = config.value("config", json::object());
    x.host.images[reference + (tag.starts_with("sha256:") ? "@" : ":") + tag] = image;
    co_return "";
}

} // namespace dockdist::scale
