#include "fakes/wire_words.hpp"
#include "shared/wire/exec_session.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/sample.hpp"
#include "shared/wire/tree.hpp"
#include "shared/wire/tunnel.hpp"

namespace dockdist {
namespace {

std::string frame_stream() {
    std::string stream;
    for (const auto kind : {wire::Frame::Kind::output, wire::Frame::Kind::control, wire::Frame::Kind::pong}) {
        const bool output = kind == wire::Frame::Kind::output;
        stream += wire::encode({.kind = kind,
                                .stream = static_cast<std::uint8_t>(output ? 1 : 0),
                                .rank = output ? 3 : -1,
                                .position = 24,
                                .time_ms = output ? 5 : 0,
                                .payload = output ? "some\n" : ""});
    }
    return stream;
}

std::string session_stream() {
    using enum wire::SessionFrame::Kind;
    std::string stream;
    for (const auto kind : {input, end, window, ping, quit}) {
        stream += wire::encode(wire::SessionFrame{
            .kind = kind, .input = kind == input ? "ls\n" : "", .window = {.rows = 24, .columns = 80}});
    }
    return stream;
}

std::string sync_stream() {
    using enum wire::SyncMessage::Kind;
    std::string stream;
    for (const auto kind : {open, list, stat, fetch, token, look, forget, barrier, opened, seen, warning,
                            problem, done, data}) {
        wire::append(stream, {.kind = kind, .size = 1, .text = "/out"});
    }
    for (const auto kind : {digest, remove, mode, time}) {
        wire::append(stream, {.kind = kind, .mode = 0755, .time_ns = 7, .name = "d/f"});
    }
    using Type = wire::TreeEntry::Type;
    for (const auto type : {Type::file, Type::folder, Type::link, Type::other}) {
        wire::append(stream, wire::to_message(entry, {.name = "d/e",
                                                      .type = type,
                                                      .mode = 0644,
                                                      .size = 1,
                                                      .time_ns = 3,
                                                      .target = type == Type::link ? "../f" : ""}));
    }
    wire::append(stream, {.kind = hashed, .name = "d/f", .text = std::string(16, 'h')});
    wire::append(stream, {.kind = folder, .mode = 0755, .name = "d"});
    wire::append(stream, {.kind = link, .name = "d/l", .text = "../f"});
    wire::append(stream, {.kind = file, .mode = 0644, .size = 1, .time_ns = 3, .name = "d/f"});
    wire::append(stream, {.kind = end_file, .size = 1});
    return stream;
}

std::string tunnel_stream() {
    using enum wire::TunnelKind;
    std::string stream;
    wire::append_tunnel_frame(stream, hello, 0);
    wire::append_tunnel_frame(stream, open, 1, wire::tunnel_target({.host = "localhost", .port = 6006}));
    wire::append_tunnel_frame(stream, accept, 1);
    wire::append_tunnel_frame(
        stream, fail, 2, wire::tunnel_failure({.kind = wire::TunnelFailure::Kind::refused, .message = "m"}));
    wire::append_tunnel_frame(stream, data, 1, "GET /");
    wire::append_tunnel_frame(stream, window, 1, std::string("\0\1\0\0", 4));
    wire::append_tunnel_frame(stream, end, 1);
    wire::append_tunnel_frame(stream, reset, 1);
    wire::append_tunnel_frame(stream, ping, 0);
    return stream;
}

std::string sample_stream() {
    wire::SampleFacts facts{.cpus = 8,
                            .memory_bytes = 1ULL << 36U,
                            .driver = "550.127.08",
                            .gpus = {{.index = 0,
                                      .uuid = "GPU-a",
                                      .name = "NVIDIA L4",
                                      .instances = {"MIG-1"},
                                      .memory_bytes = 24ULL << 30U,
                                      .power_limit_w = 72,
                                      .most_clock_mhz = 2040}},
                            .asking_gpus = true,
                            .gpu_problem = "it is slow",
                            .disks = {{.path = "/", .size_bytes = 1ULL << 40U}},
                            .network = {"eth0"},
                            .rdma = {"mlx5_0/1"}};
    const wire::Sample sample{
        .at_ms = 1,
        .clock_ms = 2,
        .cpu_ms = 3,
        .memory_bytes = 4,
        .disk_read = 5,
        .disk_written = 6,
        .disk_bytes = {7},
        .network = {{.received = 8, .sent = 9}},
        .rdma = {{.received = 10}},
        .gpus = {{.utilization_percent = 11,
                  .memory_bytes = 12,
                  .power_w = 13,
                  .temperature_c = 14,
                  .clock_mhz = 15,
                  .throttle = 0x20}},
        .ranks = {{.job = "j", .rank = 0, .pid = 16, .cpu_ms = 17, .memory_bytes = 18, .gpus = {0}}}};
    return wire::facts_line(facts) + wire::sample_line(sample);
}

} // namespace

std::vector<WireWord> stream_words() {
    std::vector<WireWord> words{
        {"FrameDecoder", frame_stream()},
        {"SessionFrameDecoder", session_stream()},
        {"SyncDecoder", sync_stream()},
        {"TunnelDecoder", tunnel_stream()},
        {"SampleReader", sample_stream()},
        {"parse_header", frame_stream().substr(0, wire::frame_header_size)},
        {"parse_session_ask",
         wire::session_ask(
             {.lease_ms = 5, .input = false, .terminal = wire::WindowSize{.rows = 24, .columns = 80}})},
        {"parse_sync_opening", wire::sync_opening({.user = "1000", .workdir = "/workspace"})},
        {"parse_tunnel_ask", wire::tunnel_ask({.lease_ms = 5, .on_host = true, .own_peers = true})},
        {"parse_tunnel_target", wire::tunnel_target({.host = "localhost", .port = 6006})},
        {"parse_tunnel_target", wire::tunnel_target({.host = "/run/docker.sock"})}};
    using enum wire::TunnelFailure::Kind;
    for (const auto kind :
         {other, refused, unreachable, timeout, unknown_name, too_many, no_socket, denied}) {
        words.push_back({"parse_tunnel_failure", wire::tunnel_failure({.kind = kind, .message = "m"})});
    }
    return words;
}

} // namespace dockdist
