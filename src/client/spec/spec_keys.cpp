#include "client/spec/spec_keys.hpp"

#include "client/spec/sections.hpp"

namespace dockdist {
namespace {

template <class T>
SpecSection section(std::string_view path, std::span<const Key<T>> keys) {
    SpecSection result{.path = path};
    for (const auto& key : keys) {
        result.keys.push_back({key.name, {key.words.begin(), key.words.end()}});
    }
    return result;
}

SpecSection section(std::string_view path, Words names) {
    SpecSection result{.path = path};
    for (const auto name : names) {
        result.keys.push_back({name});
    }
    return result;
}

} // namespace

std::vector<SpecSection> spec_sections() {
    return {
        section("", cluster_keys()),
        section("image", image_keys()),
        section("image.build", build_keys()),
        section("image.build.secrets.*", secret_keys()),
        section("hosts[]", host_keys()),
        section("hosts[].from", source_keys()),
        section("hosts[].tls", tls_keys()),
        section("container", container_keys()),
        section("container.ulimits", ulimit_names()),
        section("container.ulimits.*", ulimit_keys()),
        section("container.mounts[]", mount_keys()),
        section("container.secrets.*", secret_keys()),
        section("ssh", ssh_keys()),
        section("network", network_keys()),
        section("roles", role_keys()),
        section("sync[]", sync_keys()),
        section("setup[]", setup_keys()),
        section("data[]", data_keys()),
        section("idle", idle_keys()),
        section("history", history_keys()),
    };
}

} // namespace dockdist
