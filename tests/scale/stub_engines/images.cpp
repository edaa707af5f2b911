// Images: told about, taken out, put in, pulled. No layer is ever unpacked but the one of an import.
#include "scale/stub_engines/engine_get.hpp"
#include "scale/stub_engines/exchange.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace dockdist::scale {
namespace {

using nlohmann::json;

json details_of_image(const Host& host, const Image& image) {
    auto tags = json::array();
    auto digests = json::array();
    for (const auto& [name, there] : host.images) {
        if (there.get() == &image) {
            (name.find('@') == std::string::npos ? tags : digests).push_back(name);
        }
    }
    auto config = image.config.is_object() ? image.config : json::object();
    config.emplace("Volumes", nullptr);
    return {{"Id", image.id},
            {"RepoTags", tags},
            {"RepoDigests", digests},
            {"Created", "2025-01-01T00:00:00Z"},
            {"Architecture", "amd64"},
            {"Os", "linux"},
            {"Size", image.size},
            {"Config", std::move(config)},
            {"RootFS", {{"Type", "layers"}, {"Layers", image.layers}}}};
}

// Of one layer, which is what has come. False: it is no tar.
Task<bool> keep_imported(Exchange x, StoredTars::Arriving arriving, std::string& id) {
    const auto tar = co_await x.world.tars.store(std::move(arriving));
    if (!tar) {
        co_return false;
    }
    const auto image = std::make_shared<Image>();
    image->id = id = tar->digest;
    image->layers = {tar->digest};
    image->folder = tar->folder;
    image->size = tar->bytes.size();
    const auto repository = x.request.get("repo");
    x.host.images[repository.empty() ? image->id : repository + ":" + x.request.get("tag", "latest")] = image;
    co_return true;
}

Task<void> say_status(Exchange x, std::string status) {
    (void)co_await x.connection->chunk(json{{"status", status}}.dump() + "\r\n");
}

Task<void> say_failed(Exchange x, std::string problem) {
    const json message{{"errorDetail", {{"message", problem}}}, {"error", problem}};
    (void)co_await x.connection->chunk(message.dump() + "\r\n");
}

constexpr const char* no_tar = "archive/tar: invalid tar header";

// What is sent.
Task<void> import_body(Exchange x) {
    StoredTars::Arriving arriving(x.world.tars);
    if (!co_await x.connection->read_body(x.request, [&](std::string_view bytes) { arriving.take(bytes); })) {
        co_return;
    }
    std::string id;
    if (!co_await keep_imported(x, std::move(arriving), id)) {
        co_return co_await x.fail(500, no_tar);
    }
    (void)co_await x.connection->begin_chunks(200, "application/json");
    co_await say_status(x, id);
    (void)co_await x.connection->chunk("");
}

// What the engine fetches itself.
Task<void> import_from(Exchange x, std::string source) {
    (void)co_await x.connection->read_body(x.request);
    const auto url = parse_engine_url(source);
    if (!url) {
        co_return co_await x.fail(500,
                                  "parse \"" + source + "\": the stubs know http://ADDRESS:PORT/PATH alone");
    }
    EngineGet get;
    if (const auto problem = co_await get.begin(x.world, x.host, *url, "Accept-Encoding: gzip\r\n");
        !problem.empty()) {
        co_return co_await x.fail(500, problem);
    }
    const auto size = get.size();
    (void)co_await x.connection->begin_chunks(200, "application/json");
    co_await say_status(x, "Downloading from " + source);
    StoredTars::Arriving arriving(x.world.tars);
    auto problem = co_await get.read([&](std::string_view bytes) { arriving.take(bytes); });
    std::string id;
    if (problem.empty() && !co_await keep_imported(x, std::move(arriving), id)) {
        problem = no_tar;
    }
    if (problem.empty()) {
        x.world.counters.hosts[static_cast<std::size_t>(x.host.number)].imported += size;
        const json done{{"status", "Importing"},
                        {"progressDetail", {{"current", size}, {"total", size}}},
                        {"progress", "[==================================================>]"}};
        (void)co_await x.connection->chunk(done.dump() + "\r\n");
        co_await say_status(x, id);
    } else {
        co_await say_failed(x, problem);
    }
    (void)co_await x.connection->chunk("");
}

Task<void> create_image(Exchange x) {
    if (const auto source = x.request.get("fromSrc"); !source.empty()) {
        co_return co_await (source == "-" ? import_body(x) : import_from(x, source));
    }
    (void)co_await x.connection->read_body(x.request);
    const auto from = x.request.get("fromImage");
    if (!from.starts_with("127.0.0.1:")) { // the only registries within reach are relays
        co_return co_await x.fail(
            500,
            "Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup registry-1.docker.io: no such host");
    }
    (void)co_await x.connection->begin_chunks(200, "application/json");
    if (const auto problem = co_await pull_from_registry(x, from, x.request.get("tag")); !problem.empty()) {
        co_await say_failed(x, problem);
    }
    (void)co_await x.connection->chunk("");
}

Task<void> get_image(Exchange x, std::shared_ptr<Image> image) {
    (void)co_await x.connection->begin_chunks(200, "application/x-tar");
    std::ifstream file(image->saved, std::ios::binary);
    std::string bytes(256U << 10U, '\0');
    while (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())), file.gcount() > 0) {
        if (!co_await x.connection->chunk(bytes.substr(0, static_cast<std::size_t>(file.gcount())))) {
            co_return;
        }
    }
    (void)co_await x.connection->chunk("");
}

Task<void> tag_image(Exchange x, std::shared_ptr<Image> image) {
    x.host.images[x.request.get("repo") + ":" + x.request.get("tag", "latest")] = image;
    co_await x.answer(201);
}

Task<void> remove_image(Exchange x, std::shared_ptr<Image> image) {
    const bool last =
        std::ranges::count(x.host.images, image, [](const auto& entry) { return entry.second; }) == 1;
    for (const auto& [id, container] : x.host.containers) {
        if (last && container->image == image && x.request.get("force") != "1") {
            co_return co_await x.fail(409, "conflict: unable to remove repository reference \"" +
                                               x.request.item + "\" (must force) - container " +
                                               id.substr(0, 12) + " is using its referenced image " +
                                               image->id.substr(7, 12));
        }
    }
    auto answer = json::array();
    std::erase_if(x.host.images, [&](const auto& entry) {
        const bool named = entry.first == x.request.item || entry.first == x.request.item + ":latest" ||
                           image->id == x.request.item;
        if (entry.second == image && named) {
            answer.push_back({{"Untagged", entry.first}});
        }
        return entry.second == image && named;
    });
    if (last) {
        answer.push_back({{"Deleted", image->id}});
    }
    co_await x.answer(200, answer);
}

} // namespace

Task<bool> handle_images(Exchange x) {
    const auto& call = x.request.call;
    if (call == "POST /images/create") {
        co_await create_image(x);
        co_return true;
    }
    if (call == "GET /images/json") {
        auto list = json::array();
        for (const auto& [name, image] : x.host.images) {
            list.push_back({{"Id", image->id},
                            {"RepoTags", {name}},
                            {"RepoDigests", json::array()},
                            {"Size", image->size}});
        }
        co_await x.answer(200, list);
        co_return true;
    }
    if (call != "GET /images/X/json" && call != "GET /images/X/get" && call != "POST /images/X/tag" &&
        call != "DELETE /images/X") {
        co_return false;
    }
    const auto image = x.host.find_image(x.request.item);
    if (!image) {
        co_await x.fail(404, "No such image: " + x.request.item);
    } else if (call == "GET /images/X/json") {
        co_await x.answer(200, details_of_image(x.host, *image));
    } else if (call == "GET /images/X/get") {
        co_await get_image(x, image);
    } else if (call == "POST /images/X/tag") {
        co_await tag_image(x, image);
    } else {
        co_await remove_image(x, image);
    }
    co_return true;
}

} // namespace dockdist::scale
