#include "cli/context.hpp"
#include "cli/reach_hosts.hpp"
#include "engine/docker_engine.hpp"

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

Task<Result<ImageSource>> find_source(const Context& context, const Connected& cluster, std::string from,
                                      ImageRef ref, std::shared_ptr<std::unique_ptr<ContainerEngine>> local) {
    if (ref.str().find('@') != std::string::npos) {
        co_return Error{ErrorKind::config, "image " + ref.str(),
                        "an image that is named by its digest comes from a registry only",
                        "name it by a tag, or leave out `from`"};
    }
    if (from != "local") {
        const auto& hosts = cluster.spec.hosts;
        const auto host = std::ranges::find(hosts, HostName(from), &HostSpec::name);
        if (host == hosts.end()) {
            co_return Error{ErrorKind::config, "image.from", fmt::format("there is no host `{}`", from),
                            "write `local` for this machine's engine, or a host's name"};
        }
        auto& engine = *cluster.engines[static_cast<std::size_t>(host - hosts.begin())];
        co_return co_await find_image_source(engine, from, std::move(ref));
    }
    auto engine = co_await local_engine(context);
    if (!engine) {
        auto error = engine.error();
        error.where = local_name;
        co_return error;
    }
    *local = std::move(*engine);
    co_return co_await find_image_source(**local, local_name, std::move(ref));
}

} // namespace

std::function<Task<Result<ImageSource>>()> image_source_of(const Context& context, const Connected& cluster,
                                                           const std::string& from, const ImageRef& ref) {
    if (from.empty()) {
        return {};
    }
    auto local = std::make_shared<std::unique_ptr<ContainerEngine>>(); // lives as long as the function
    return [&context, &cluster, from, ref, local] { return find_source(context, cluster, from, ref, local); };
}

} // namespace dockdist
