#include "client/plan/architecture.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

namespace dockdist {

std::string architecture_of(const ImageSpec& image) {
    const auto parts = split(image.platform, '/'); // OS/ARCHITECTURE[/VARIANT]
    return parts.size() < 2 ? "" : parts[1];
}

std::string container_architecture(const ImageSpec& image, const ObservedHost& host) {
    if (const auto asked = architecture_of(image); !asked.empty()) {
        return asked;
    }
    if (host.image && !host.image->architecture.empty()) {
        return host.image->architecture;
    }
    return go_architecture(host.engine.architecture);
}

const Toolkit* toolkit_of(const Toolkits& toolkits, const ImageSpec& image, const ObservedHost& host) {
    return toolkits.of(container_architecture(image, host));
}

bool has_toolkit(const ObservedHost& host, const Toolkit* toolkit) {
    return toolkit != nullptr && host.toolkits.contains(toolkit->version);
}

bool has_other_platform(const ImageSpec& image, const ObservedHost& host) {
    const auto asked = architecture_of(image);
    return !asked.empty() && host.image && !host.image->architecture.empty() &&
           host.image->architecture != asked;
}

std::optional<EngineRemark> judge_architecture(const ImageSpec& image, const ObservedHost& host,
                                               const Toolkits& toolkits, bool pulls) {
    // After a pull for that platform the engine knows better: where it keeps several under one name
    // (containerd's image store), it tells of its own architecture's, and makes containers of the one asked
    // for.
    const bool stays = image.pull == ImageSpec::Pull::never && image.from.empty();
    if (has_other_platform(image, host) && stays) {
        return EngineRemark{
            fmt::format("the image {} there is for {}, and `image.platform` asks for {}",
                        printable(image.ref.str()), printable(host.image->architecture),
                        printable(image.platform)),
            "pull it there for that platform, correct `image.platform`, or drop `pull: never`"};
    }
    const bool replaced = pulls && (image.pull == ImageSpec::Pull::always || !image.from.empty());
    if (image.platform.empty() && host.image && !replaced && !runs_on(*host.image, host.engine)) {
        return EngineRemark{
            other_architecture(*host.image, host.engine),
            fmt::format("pull an image of the host's architecture there; or, if the host runs such programs "
                        "(binfmt, QEMU), say so with `image.platform: linux/{}`",
                        printable(host.image->architecture))};
    }
    const auto architecture = container_architecture(image, host);
    if (toolkits.of(architecture) == nullptr) {
        return EngineRemark{
            fmt::format("containers there run as {}, for which this dockdist has no toolkit",
                        architecture.empty() ? "an unknown architecture" : printable(architecture)),
            fmt::format("it has {}: leave the host out, or name an image of such an architecture with "
                        "`image.platform`",
                        toolkits.architectures())};
    }
    return std::nullopt;
}

std::optional<EngineRemark> judge_source(const ImageSpec& image, const ImageDetails& source,
                                         const EngineInfo& engine) {
    const auto asked = architecture_of(image);
    if (asked.empty()) {
        return runs_on(source, engine)
                   ? std::nullopt
                   : std::optional(EngineRemark{other_architecture(source, engine), build_for_both});
    }
    if (source.architecture.empty() || source.architecture == asked) {
        return std::nullopt;
    }
    return EngineRemark{fmt::format("the image is for {}, and `image.platform` asks for {}",
                                    printable(source.architecture), printable(image.platform)),
                        "name another source (`image.from`), or correct `image.platform`"};
}

} // namespace dockdist
