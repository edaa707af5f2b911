// One process that answers as many engines as are asked for, each at an address of its own, whose containers
// run what the client puts into them: dockdist-init itself, its sshd, its jobs. See docs/scale.md.
#include "scale/stub_engines/server.hpp"
#include "shared/core/descriptors.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

using namespace dockdist::scale;
using nlohmann::json;

constexpr int engine_port = 2375;

json read_json(const std::string& path) {
    std::ifstream file(path);
    return json::parse(file);
}

// NAME=FOLDER: an image whose containers see that folder. What an engine would tell of it may stand in
// FOLDER.json.
std::pair<std::string, Image> read_image(const std::string& text) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    Image image{
        .id = "sha256:" + std::string(64, '0'), .layers = {"sha256:" + std::string(64, '1')}, .size = 1};
    const auto place = equals == std::string::npos ? std::string() : text.substr(equals + 1);
    if (place.ends_with(".tar")) {
        image.saved = place;
    } else {
        image.folder = place;
    }
    if (const auto told = place + ".json"; std::filesystem::exists(told)) {
        const auto details = read_json(told);
        image.id = details.value("Id", image.id);
        image.layers = details.value("RootFS", json::object()).value("Layers", image.layers);
        image.config = details.value("Config", json::object());
        image.size = details.value("Size", image.size);
    }
    return {name.find(':', name.rfind('/') == std::string::npos ? 0 : name.rfind('/')) == std::string::npos
                ? name + ":latest"
                : name,
            image};
}

int run(Setting setting) {
    dockdist::take_all_descriptors();
    std::signal(SIGPIPE, SIG_IGN);
    std::filesystem::create_directories(setting.folder + "/root");
    std::filesystem::create_directories(setting.folder + "/tars");
    boost::asio::io_context io(1);
    World world(io, std::move(setting));
    Server server(world, engine_port);
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](boost::system::error_code, int) { io.stop(); });
    std::cout << "ready" << std::endl;
    io.run();
    // Before the world goes, whose parts its tasks use. The containers end with this process.
    std::_Exit(0);
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Stub engines: one process that answers as many of them, at tcp://127.101.0.1:2375 and so on"};
    Setting setting;
    std::string script;
    std::vector<std::string> images, source_images;
    app.add_option("--hosts", setting.hosts, "how many")->required();
    app.add_option("--folder", setting.folder, "an empty folder for what they keep")->required();
    app.add_option("--image", images, "NAME=FOLDER or NAME=FILE.tar: an image that every host has");
    app.add_option("--source", source_images, "the same of the last host alone");
    app.add_option("--script", script, "FILE: delays and failures, see script.hpp");
    app.add_option("--node-bandwidth", setting.node_bandwidth, "bytes a second between the hosts, each way");
    CLI11_PARSE(app, argc, argv);
    try {
        for (const auto& image : images) {
            setting.images.insert(read_image(image));
        }
        for (const auto& image : source_images) {
            setting.source_images.insert(read_image(image));
        }
        if (!script.empty()) {
            setting.script = parse_script(read_json(script));
        }
        return run(std::move(setting));
    } catch (const std::exception& error) {
        std::cerr << "stub_engines: " << error.what() << std::endl;
        return 1;
    }
}
