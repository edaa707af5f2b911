#include "client/cli/context.hpp"
#include "client/cli/reach_hosts.hpp"
#include "client/engine/docker_engine.hpp"
#include "client/image/build_image.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr const char* local_name = "this machine";

// The engine that the docker command line would use here.
Task<Result<std::unique_ptr<ContainerEngine>>> local_engine(const Context& context) {
    ClusterSpec here;
    HostSpec host;
    host.name = HostName(local_name);
    host.use_current_context = true;
    here.hosts.push_back(std::move(host));
    auto reached = co_await reach_hosts(context, here);
    if (!reached.errors.empty()) {
        co_return reached.errors.front();
    }
    co_return make_docker_engine(context.executor, std::move(reached.endpoints.front()));
}

// The engine where the image is to come from. `local` keeps this machine's.
Task<Result<ContainerEngine*>> source_engine(const Context& context, const Connected& cluster,
                                             std::shared_ptr<std::unique_ptr<ContainerEngine>> local) {
    const auto& from = cluster.spec.image.from;
    if (from != "local") {
        const auto& hosts = cluster.spec.hosts;
        const auto host = std::ranges::find(hosts, HostName(from), &HostSpec::name);
        if (host == hosts.end()) {
            co_return Error{ErrorKind::config, "image.from", fmt::format("there is no host `{}`", from),
                            "write `local` for this machine's engine, or a host's name"};
        }
        co_return cluster.engines[static_cast<std::size_t>(host - hosts.begin())].get();
    }
    auto engine = co_await local_engine(context);
    if (!engine) {
        auto error = engine.error();
        error.where = local_name;
        co_return error;
    }
    *local = std::move(*engine);
    co_return local->get();
}

// What the build's secrets lack: asked for where something is built, and not before.
Status secrets_are_there(const ImageSpec& image) {
    const auto& missing = image.build->missing;
    if (missing.empty()) {
        return ok;
    }
    auto error = missing.front();
    for (std::size_t i = 1; i < missing.size(); ++i) {
        error.message += "; " + missing[i].message;
    }
    return error;
}

Task<Result<ImageSource>> find_source(const Context& context, const Connected& cluster, Build build,
                                      std::shared_ptr<std::unique_ptr<ContainerEngine>> local) {
    const auto& image = cluster.spec.image;
    if (image.ref.str().find('@') != std::string::npos) {
        co_return Error{ErrorKind::config, "image " + image.ref.str(),
                        "an image that is named by its digest can only come from a registry",
                        "name it by a tag, or leave out `from`"};
    }
    const auto engine = co_await source_engine(context, cluster, local);
    CO_TRY(engine);
    const std::string name = image.from == "local" ? local_name : image.from;
    if (build != Build::anew) {
        auto found = co_await find_image_source(**engine, name, image.ref);
        if (found || found.error().kind != ErrorKind::not_found || !image.build || build == Build::never) {
            co_return found;
        }
    }
    CO_TRY(secrets_are_there(image));
    const auto built =
        co_await build_image(**engine, name, image, {.environment = client_environment}, *context.reporter);
    CO_TRY(built);
    co_return co_await find_image_source(**engine, name, image.ref);
}

} // namespace

Error no_build_in_file(const ClusterSpec& spec) {
    return {ErrorKind::usage, spec.file.string(), "it does not say how to build the image",
            "write `image: {ref: NAME:TAG, build: .}`: a folder with a Dockerfile"};
}

std::function<Task<Result<ImageSource>>()> image_source_of(const Context& context, const Connected& cluster,
                                                           Build build) {
    if (cluster.spec.image.from.empty()) {
        return {};
    }
    auto local = std::make_shared<std::unique_ptr<ContainerEngine>>(); // lives as long as the function
    return [&context, &cluster, build, local] { return find_source(context, cluster, build, local); };
}

} // namespace dockdist
