// Ray: a head on the first node, workers on the others, for as long as the command runs, which the first node
// starts. Every process bears the job's mark and ends with it; `ray stop` would end other jobs' too.
// Whoever is let into Ray's ports runs code in the job. From Ray 2.52 on they want the job's token
// (docs.ray.io, "Ray token authentication"); Ray's server for remote clients, which nobody here asks for,
// stays off.
#include "shared/core/text.hpp"
#include "shared/launch/common.hpp"
#include "shared/wire/layout.hpp"

#include <charconv>
#include <utility>

namespace dockdist {

// Ports and folders are this job's own, so that two of Ray's clusters live side by side on a host.
extern const char* const ray_node_py;

namespace {

bool read_number(const std::string& text, int& number) {
    return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
}

} // namespace

std::vector<Tool> ray_tools(const LaunchRequest&) {
    return {{Tool::Kind::python_module, "ray", "take an image with Ray, or add it: `pip install ray`"}};
}

Errors ray_warnings(const LaunchRequest& request) {
    const auto& versions = request.nodes.front().versions;
    const auto found = versions.find("ray");
    const auto version = found == versions.end() ? "" : found->second;
    const auto numbers = split(version, '.'); // "2.51.2", "3.0.0.dev0"
    int major = 0;
    int minor = 0;
    if (numbers.size() < 2 || !read_number(numbers[0], major) || !read_number(numbers[1], minor) ||
        std::pair(major, minor) >= std::pair(2, 52)) {
        return {};
    }
    return {
        {ErrorKind::config, "",
         "Ray " + printable(version) +
             " does not support tokens: whoever reaches its ports on the network can run code in this job",
         "take an image with Ray 2.52 or newer"}};
}

Result<std::vector<NodeLaunch>> launch_ray(const LaunchRequest& request) {
    auto launches = ranks_on_every_node(request);
    const auto file = in_scratch(request, "start-ray.py");
    const auto token = in_scratch(request, "ray-token");
    for (std::size_t i = 0; i < launches.size(); ++i) {
        auto& launch = launches[i];
        launch.start.files[file] = ray_node_py;
        launch.start.files[token] = request.secret;
        launch.start.env["RAY_AUTH_MODE"] = "token"; // older Ray does not know it
        launch.start.env["RAY_AUTH_TOKEN_PATH"] = token;
        launch.start.argv = {"python",
                             "-u",
                             file,
                             i == 0 ? "head" : "worker",
                             request.nodes.front().address,
                             std::to_string(request.ports.at(0).number),
                             std::to_string(request.ports.at(1).number),
                             request.nodes[i].address,
                             std::to_string(launches.size()),
                             std::to_string(request.nodes[i].gpus > 0 ? launch.ranks : 0),
                             "/tmp/ray-" + request.job.str(),
                             layout::init};
        launch.ranks = i == 0 ? 1 : 0;
        launch.first_rank = 0;
        launch.hosts_remote_ranks = i > 0;
        if (i > 0) {
            launch.start.rank_command.clear();
        }
    }
    return launches;
}

} // namespace dockdist
