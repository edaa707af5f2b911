// image.build: from what the image is made on one of the hosts.
#include "client/spec/sections.hpp"

#include <array>

namespace dockdist {
namespace {

void read_folder(Reader& reader, const Value& value, BuildSpec& build) {
    if (const auto text = reader.line(value, "a folder on this machine")) {
        build.context = reader.client_path(value, *text).value_or("");
    }
}

// In the context, where the engine looks for it.
void read_dockerfile(Reader& reader, const Value& value, BuildSpec& build) {
    const auto path = reader.line(value, "a path in the folder");
    if (!path) {
        return;
    }
    const auto plain = std::filesystem::path(*path).lexically_normal();
    if (plain.is_absolute() || *plain.begin() == "..") {
        reader.error(value, in_quotes(*path) + " is not in the folder",
                     "write it relative to `context`: `docker/Dockerfile.train`");
        return;
    }
    build.dockerfile = plain.string();
}

constexpr std::array build_table{
    Key<BuildSpec>{"context", read_folder},
    Key<BuildSpec>{"dockerfile", read_dockerfile},
    Key<BuildSpec>{"target",
                   [](Reader& reader, const Value& value, BuildSpec& build) {
                       build.target = reader.line(value, "a stage of the Dockerfile").value_or("");
                   }},
    Key<BuildSpec>{"args",
                   [](Reader& reader, const Value& value, BuildSpec& build) {
                       read_env(reader, value, build.args, Variables::of_build);
                   }},
    Key<BuildSpec>{"secrets",
                   [](Reader& reader, const Value& value, BuildSpec& build) {
                       read_secrets(reader, value, reader.resolve_build_secrets(), build.secrets,
                                    Variables::of_build);
                   }},
};

} // namespace

std::span<const Key<BuildSpec>> build_keys() {
    return build_table;
}

void read_build(Reader& reader, const Value& value, ImageSpec& image) {
    BuildSpec build;
    if (value.node->kind == YamlNode::Kind::map) {
        read_keys(reader, value, build_keys(), build);
        if (value.node->find("context") == nullptr) {
            reader.error(value, "`context` is missing", "write {context: .}: the folder of the Dockerfile");
        }
    } else {
        read_folder(reader, value, build);
    }
    image.build = std::move(build);
}

} // namespace dockdist
