#include "scale/stub_engines/world.hpp"

#include "shared/core/random.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace dockdist::scale {

std::map<std::string, std::string> Container::labels() const {
    return config.value("Labels", std::map<std::string, std::string>());
}

std::shared_ptr<Container> Host::find(const std::string& what) const {
    if (what.empty()) {
        return nullptr;
    }
    if (const auto exact = containers.find(what); exact != containers.end()) {
        return exact->second;
    }
    for (const auto& [id, container] : containers) {
        if (container->name == what || id.starts_with(what)) {
            return container;
        }
    }
    return nullptr;
}

std::shared_ptr<Image> Host::find_image(const std::string& what) const {
    for (const auto& tagged : {what, what + ":latest"}) {
        if (const auto found = images.find(tagged); found != images.end()) {
            return found->second;
        }
    }
    for (const auto& [reference, image] : images) {
        if (image->id == what || image->id == "sha256:" + what) {
            return image;
        }
    }
    return nullptr;
}

World::World(boost::asio::io_context& context, Setting what)
    : setting(std::move(what)), fabric(setting.hosts, setting.node_bandwidth), processes(context),
      tars(processes, setting.folder + "/tars"), counters(static_cast<std::size_t>(setting.hosts)),
      io(context) {
    std::map<std::string, std::shared_ptr<Image>> images;
    for (const auto& [name, image] : setting.images) {
        images[name] = std::make_shared<Image>(image);
    }
    for (int i = 0; i < setting.hosts; ++i) {
        hosts.push_back(std::make_unique<Host>());
        hosts.back()->number = i;
        hosts.back()->name = fmt::format("stub-{}", i);
        hosts.back()->images = images;
    }
    for (const auto& [name, image] : setting.source_images) {
        hosts.back()->images[name] = std::make_shared<Image>(image);
    }
    follow_script(setting.script);
}

void World::follow_script(Script script) {
    setting.script = std::move(script);
    for (const auto& host : hosts) {
        const bool near = setting.script.near.contains(host->number);
        host->way.round_trip = near ? std::chrono::microseconds(0) : setting.script.round_trip;
        host->way.bandwidth = near ? 0 : setting.script.bandwidth;
    }
    if (on_script) {
        on_script();
    }
}

void World::vanish(Host& host) {
    if (!std::exchange(host.way.silent, true)) {
        fabric.cut(host.number);
    }
}

std::string now_as_text() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                       rest);
}

} // namespace dockdist::scale
