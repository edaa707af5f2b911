#include "client/data/data_places.hpp"

#include "shared/core/path.hpp"

#include <algorithm>

namespace dockdist {
namespace {

Mount target_mount(const DataSpec& data, DataWork work) {
    return {.type = is_volume(data) ? Mount::Type::volume : Mount::Type::bind,
            .source = data.target,
            .target = data_folder,
            .read_only = work == DataWork::look,
            .make_source = work == DataWork::push};
}

} // namespace

bool is_volume(const DataSpec& data) {
    return !data.target.starts_with('/');
}

std::vector<DataPlace> make_places(const ClusterSpec& spec, const Engines& engines, const DataSpec& data,
                                   const DataSetting& setting, const RelayRun& run,
                                   std::vector<DataHost>& hosts) {
    // The origin may be one of the others as well.
    const auto make_relay = [&](std::size_t host, const std::string& number, Mount mount) {
        auto relay = relay_setting(spec.name, spec.hosts[host], number, run);
        relay.place = std::move(mount);
        return std::make_unique<RelayHost>(*engines[host], spec.hosts[host].name.str(), std::move(relay));
    };
    const auto origin = std::ranges::find(spec.hosts, HostName(data.host), &HostSpec::name);
    const auto origin_host = static_cast<std::size_t>(origin - spec.hosts.begin());
    std::vector<DataPlace> places;
    if (!data.host.empty()) {
        places.push_back({.relay = make_relay(origin_host, "from",
                                              {.type = Mount::Type::bind,
                                               .source = data.source,
                                               .target = data_folder,
                                               .read_only = true}),
                          .host = origin_host});
    }
    for (const auto host : setting.hosts) {
        DataHost target{.host = host, .node = {.node = NodeName(spec.hosts[host].name.str())}};
        target.is_origin = !data.host.empty() && host == origin_host && !is_volume(data) &&
                           normal_path(data.source) == normal_path(data.target);
        hosts.push_back(std::move(target));
    }
    for (auto& target : hosts) {
        if (!target.is_origin) {
            places.push_back({.relay = make_relay(target.host, std::to_string(target.host),
                                                  target_mount(data, setting.work)),
                              .host = target.host,
                              .target = &target});
        }
    }
    return places;
}

} // namespace dockdist
