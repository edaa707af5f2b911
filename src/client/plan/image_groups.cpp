#include "client/plan/image_groups.hpp"

#include "client/container/same_image.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

std::string beside_layers(const std::vector<ImageGroup>& groups, const ImageDetails& image) {
    const auto with_same_layers = std::ranges::find_if(
        groups, [&](const ImageGroup& group) { return group.image.layers == image.layers; });
    return with_same_layers == groups.end()
               ? ""
               : fmt::format("{}", fmt::join(image_differences(with_same_layers->image, image), ", "));
}

} // namespace

std::vector<ImageGroup> image_groups(const ObservedCluster& cluster) {
    std::vector<ImageGroup> groups;
    for (std::size_t host = 0; host < cluster.hosts.size(); ++host) {
        const auto& image = cluster.hosts[host].image;
        if (!image) {
            continue;
        }
        const auto same = std::ranges::find_if(
            groups, [&](const ImageGroup& group) { return same_image(group.image, *image); });
        if (same == groups.end()) {
            groups.push_back({*image, {host}, beside_layers(groups, *image)});
        } else {
            same->hosts.push_back(host);
        }
    }
    return groups;
}

bool images_differ(const std::vector<ImageGroup>& groups) {
    std::set<std::string> architectures;
    return std::ranges::any_of(groups, [&](const ImageGroup& group) {
        return !architectures.insert(group.image.architecture).second;
    });
}

std::string to_text(const ImageGroup& group, const std::vector<std::string>& host_names) {
    std::vector<std::string> names;
    for (const auto host : group.hosts) {
        names.push_back(printable(host_names.at(host)));
    }
    const auto& created = group.image.created; // RFC 3339
    return fmt::format(
        "{} {} {} ({}{}{})", list_names(names), names.size() == 1 ? "has" : "have",
        short_image_id(group.image.id),
        created.size() < 16
            ? ""
            : fmt::format("made {} {}, ", printable(created.substr(0, 10)), printable(created.substr(11, 5))),
        format_size(group.image.size),
        group.beside_layers.empty() ? "" : "; the same layers, but another " + group.beside_layers);
}

std::string short_image_id(const std::string& id) {
    const auto colon = id.find(':');
    return printable(id.substr(colon == std::string::npos ? 0 : colon + 1, 12));
}

Error of_different_images(const ClusterSpec& spec, const std::vector<ImageGroup>& groups) {
    std::vector<std::string> names;
    for (const auto& host : spec.hosts) {
        names.push_back(host.name.str());
    }
    std::string who;
    for (const auto& group : groups) {
        who += (who.empty() ? "" : "; ") + to_text(group, names);
    }
    return {
        ErrorKind::conflict, "image " + spec.image.ref.str(), "it is not the same on every host: " + who,
        spec.image.ref.str().find('@') == std::string::npos
            ? "bring one host's to all (`dockdist image push --from HOST`), let all pull "
              "it again (`image: {ref: …, pull: always}`), or name it by its digest (REPOSITORY@sha256:…); "
              "`dockdist image ls` shows more"
            : "remove the wrong one there (`docker rmi`, or `podman rmi`); `dockdist image ls` shows "
              "more"};
}

} // namespace dockdist
