#include "client/container/same_image.hpp"

#include <algorithm>

namespace dockdist {
namespace {

// Their order means nothing.
std::vector<std::string> sorted_env(const ImageDetails& image) {
    auto env = image.env;
    std::ranges::sort(env);
    return env;
}

// Where nothing is said, a container begins there too.
std::string working_dir_of(const ImageDetails& image) {
    return image.working_dir.empty() ? "/" : image.working_dir;
}

} // namespace

std::vector<std::string> image_differences(const ImageDetails& one, const ImageDetails& other) {
    std::vector<std::string> differences;
    const auto compare = [&](bool same, const char* what) {
        if (!same) {
            differences.emplace_back(what);
        }
    };
    compare(one.layers == other.layers, "layers");
    // Docker's graph drivers fill in their host's where an image has none; other stores leave it empty.
    compare(one.architecture == other.architecture || one.architecture.empty() || other.architecture.empty(),
            "architecture");
    compare(sorted_env(one) == sorted_env(other), "environment");
    compare(one.entrypoint == other.entrypoint, "entrypoint");
    compare(one.command == other.command, "command");
    compare(one.user == other.user, "user");
    compare(working_dir_of(one) == working_dir_of(other), "working directory");
    return differences;
}

bool same_image(const ImageDetails& one, const ImageDetails& other) {
    return image_differences(one, other).empty();
}

} // namespace dockdist
