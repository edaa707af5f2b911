#include "client/engine/buildkit/build_trace.hpp"

#include "shared/core/encode.hpp"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

namespace dockdist {
namespace {

using protozero::pbf_reader;

// A field's number together with how it is written: what is written in another way is skipped as unknown, for
// the library does not look (and its get_bool reads beyond the end).
constexpr std::uint32_t bytes(protozero::pbf_tag_type field) {
    return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t number(protozero::pbf_tag_type field) {
    return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}

BuildTrace::Vertex read_vertex(pbf_reader message) {
    BuildTrace::Vertex vertex;
    while (message.next()) {
        switch (message.tag_and_type()) {
        case bytes(1):
            vertex.digest = message.get_string();
            break;
        case bytes(3):
            vertex.name = message.get_string();
            break;
        case number(4):
            vertex.cached = message.get_uint64() != 0;
            break;
        case bytes(5):
            vertex.started = true;
            message.skip();
            break;
        case bytes(6):
            vertex.completed = true;
            message.skip();
            break;
        case bytes(7):
            vertex.error = message.get_string();
            break;
        default:
            message.skip();
        }
    }
    return vertex;
}

BuildTrace::Progress read_progress(pbf_reader message) {
    const auto count = [&] {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(message.get_int64(), 0));
    };
    BuildTrace::Progress progress;
    while (message.next()) {
        switch (message.tag_and_type()) {
        case bytes(1):
            progress.id = message.get_string();
            break;
        case bytes(2):
            progress.vertex = message.get_string();
            break;
        case bytes(3):
            progress.name = message.get_string();
            break;
        case number(4):
            progress.current = count();
            break;
        case number(5):
            progress.total = count();
            break;
        case bytes(8):
            progress.completed = true;
            message.skip();
            break;
        default:
            message.skip();
        }
    }
    return progress;
}

BuildTrace::Log read_log(pbf_reader message) {
    BuildTrace::Log log;
    while (message.next()) {
        switch (message.tag_and_type()) {
        case bytes(1):
            log.vertex = message.get_string();
            break;
        case bytes(4):
            log.text = message.get_string();
            break;
        default:
            message.skip();
        }
    }
    return log;
}

} // namespace

Result<BuildTrace> decode_build_trace(std::string_view base64) {
    const auto encoded = from_base64(base64);
    if (!encoded) {
        return Error{ErrorKind::protocol, "", "a message of BuildKit is not base64", ""};
    }
    BuildTrace trace;
    try {
        pbf_reader message(*encoded);
        while (message.next()) {
            switch (message.tag_and_type()) {
            case bytes(1):
                trace.vertexes.push_back(read_vertex(message.get_message()));
                break;
            case bytes(2):
                trace.progress.push_back(read_progress(message.get_message()));
                break;
            case bytes(3):
                trace.logs.push_back(read_log(message.get_message()));
                break;
            default:
                message.skip(); // warnings
            }
        }
    } catch (const protozero::exception&) {
        return Error{ErrorKind::protocol, "", "a message of BuildKit cannot be read", ""};
    }
    return trace;
}

} // namespace dockdist
