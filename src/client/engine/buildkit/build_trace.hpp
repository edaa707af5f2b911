// BuildKit's messages about a build: moby.buildkit.v1.StatusResponse (github.com/moby/buildkit,
// api/services/control), which an engine sends in base64 as {"id":"moby.buildkit.trace","aux":…}.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// What it says is as it came: neither bounded but by the message, nor fit for a terminal.
struct BuildTrace {
    struct Vertex { // a step, or something beside; told again whenever something of it changes
        std::string digest{}, name{}, error{};
        bool cached = false, started = false, completed = false;
    };
    struct Progress { // of a part of a vertex
        std::string id{}, vertex{}, name{};
        std::uint64_t current = 0, total = 0;
        bool completed = false;
    };
    struct Log {
        std::string vertex{}, text{};
    };
    std::vector<Vertex> vertexes{};
    std::vector<Progress> progress{};
    std::vector<Log> logs{};
};

// Errors: protocol.
Result<BuildTrace> decode_build_trace(std::string_view base64);

} // namespace dockdist
