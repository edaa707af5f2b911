#include "client/engine/buildkit/grpc_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <nghttp2/nghttp2.h>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t prefix = 5;                 // of a message: whether it is compressed, and its length
constexpr std::size_t most_metadata = 64U << 10U; // of one call
constexpr std::size_t longest_output = 256U << 10U;

nghttp2_nv field(std::string_view name, std::string_view value) {
    // The library copies both.
    return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
            NGHTTP2_NV_FLAG_NONE};
}

std::string framed(std::string_view message) {
    std::string bytes(1, '\0');
    for (const int shift : {24, 16, 8, 0}) {
        bytes += static_cast<char>(message.size() >> shift & 0xffU);
    }
    return bytes.append(message);
}

std::size_t length_of(std::string_view frame) {
    std::size_t length = 0;
    for (const char byte : frame.substr(1, prefix - 1)) {
        length = length << 8U | static_cast<unsigned char>(byte);
    }
    return length;
}

Error http2_error(ssize_t code) {
    return {ErrorKind::protocol, "",
            fmt::format("the engine's build session is not HTTP/2: {}",
                        ::nghttp2_strerror(static_cast<int>(code))),
            ""};
}

} // namespace

struct GrpcServer::Callbacks {
    static GrpcServer& of(void* user) { return *static_cast<GrpcServer*>(user); }

    static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            of(user).streams_.try_emplace(frame->hd.stream_id);
        }
        return 0;
    }

    static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                      void* user) {
        auto* stream = of(user).open(frame->hd.stream_id);
        if (stream == nullptr) {
            return 0;
        }
        stream->metadata_size += name_size + value_size;
        if (stream->metadata_size <= most_metadata) { // else the call is refused: a part of it would mislead
            stream->metadata.emplace(std::string(reinterpret_cast<const char*>(name), name_size),
                                     std::string(reinterpret_cast<const char*>(value), value_size));
        }
        return 0;
    }

    static int data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                    std::size_t size, void* user) {
        auto* stream = of(user).open(id);
        if (stream != nullptr && !stream->refused) {
            stream->received.append(reinterpret_cast<const char*>(bytes), size);
            of(user).received_some(id);
        }
        return 0;
    }

    static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            of(user).received_headers(frame->hd.stream_id);
        }
        const bool of_a_call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
        if (of_a_call && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
            of(user).received_all(frame->hd.stream_id);
        }
        return 0;
    }

    static int close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
        if (const auto* stream = of(user).open(id); stream != nullptr && stream->of_many) {
            of(user).calls_.push_back({.kind = GrpcCall::Kind::closed, .stream = id});
        }
        of(user).streams_.erase(id);
        return 0;
    }

    // What waits, and behind the last of it the trailers.
    static ssize_t read(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t room,
                        std::uint32_t* flags, nghttp2_data_source*, void* user) {
        auto* stream = of(user).open(id);
        if (stream == nullptr) {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        const auto count = std::min(room, stream->waiting.size() - stream->taken);
        if (count == 0 && !stream->end) {
            return NGHTTP2_ERR_DEFERRED;
        }
        std::copy_n(stream->waiting.data() + stream->taken, count, buffer);
        stream->taken += count;
        if (stream->taken == stream->waiting.size()) {
            stream->waiting.clear();
            stream->taken = 0;
            if (stream->end) {
                *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
                const auto number = std::to_string(static_cast<int>(*stream->end));
                const auto status = field("grpc-status", number);
                if (::nghttp2_submit_trailer(session, id, &status, 1) != 0) {
                    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
                }
            }
        }
        return static_cast<ssize_t>(count);
    }
};

GrpcServer::GrpcServer(std::vector<std::string> of_many)
    : of_many_(std::move(of_many)), session_(nullptr, &::nghttp2_session_del) {
    nghttp2_session_callbacks* made = nullptr;
    if (::nghttp2_session_callbacks_new(&made) != 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<nghttp2_session_callbacks, void (*)(nghttp2_session_callbacks*)> callbacks(
        made, &::nghttp2_session_callbacks_del);
    ::nghttp2_session_callbacks_set_on_begin_headers_callback(made, &Callbacks::begin_headers);
    ::nghttp2_session_callbacks_set_on_header_callback(made, &Callbacks::header);
    ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &Callbacks::data);
    ::nghttp2_session_callbacks_set_on_frame_recv_callback(made, &Callbacks::frame);
    ::nghttp2_session_callbacks_set_on_stream_close_callback(made, &Callbacks::close);
    nghttp2_session* session = nullptr;
    if (::nghttp2_session_server_new(&session, made, this) != 0) {
        throw std::bad_alloc();
    }
    session_.reset(session);
    const nghttp2_settings_entry most{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_calls};
    if (::nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &most, 1) != 0) {
        throw std::bad_alloc();
    }
}

GrpcServer::~GrpcServer() = default;

Status GrpcServer::feed(std::string_view bytes) {
    const auto taken = ::nghttp2_session_mem_recv(
        session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (taken < 0) {
        return http2_error(taken);
    }
    return ok;
}

std::vector<GrpcCall> GrpcServer::take_calls() {
    return std::exchange(calls_, {});
}

GrpcServer::Stream* GrpcServer::open(std::int32_t id) {
    const auto stream = streams_.find(id);
    return stream == streams_.end() ? nullptr : &stream->second;
}

void GrpcServer::received_headers(std::int32_t id) {
    auto* stream = open(id);
    if (stream == nullptr) {
        return;
    }
    if (stream->metadata_size > most_metadata) {
        stream->metadata = {};
        refuse(id, GrpcStatus::resource_exhausted);
        return;
    }
    if (const auto path = stream->metadata.find(":path"); path != stream->metadata.end()) {
        stream->method = path->second;
    }
    stream->of_many = std::ranges::find(of_many_, stream->method) != of_many_.end();
    if (stream->of_many) {
        calls_.push_back({.kind = GrpcCall::Kind::opened,
                          .stream = id,
                          .method = stream->method,
                          .metadata = std::move(stream->metadata)});
    }
    stream->metadata = {};
}

// The messages that have come whole of a call that has many; of another one no more than one is kept.
void GrpcServer::received_some(std::int32_t id) {
    auto& stream = *open(id);
    while (stream.received.size() >= prefix) {
        const auto length = length_of(stream.received);
        if (length > longest_message || (!stream.of_many && stream.received.size() > prefix + length)) {
            refuse(id, length > longest_message ? GrpcStatus::resource_exhausted : GrpcStatus::internal);
            return;
        }
        if (stream.received.front() != '\0') { // compressed, though nobody has said that we can read it
            refuse(id, GrpcStatus::unimplemented);
            return;
        }
        if (!stream.of_many || stream.received.size() < prefix + length) {
            return;
        }
        calls_.push_back({.kind = GrpcCall::Kind::message,
                          .stream = id,
                          .message = stream.received.substr(prefix, length)});
        stream.received.erase(0, prefix + length);
    }
}

void GrpcServer::received_all(std::int32_t id) {
    auto* stream = open(id);
    if (stream == nullptr || stream->refused) {
        return;
    }
    if (stream->of_many) {
        calls_.push_back({.kind = GrpcCall::Kind::closed, .stream = id});
        return;
    }
    const auto received = std::exchange(stream->received, {});
    if (received.size() < prefix || length_of(received) != received.size() - prefix) {
        refuse(id, GrpcStatus::internal);
    } else {
        calls_.push_back({.stream = id, .method = stream->method, .message = received.substr(prefix)});
    }
}

void GrpcServer::answer(std::int32_t id, GrpcAnswer answer) {
    if (answer.status != GrpcStatus::good) {
        refuse(id, answer.status);
        return;
    }
    if (send(id, answer.message)) {
        finish(id, GrpcStatus::good);
    }
}

bool GrpcServer::is_open(std::int32_t id) const {
    const auto stream = streams_.find(id);
    return stream != streams_.end() && !stream->second.end;
}

bool GrpcServer::send(std::int32_t id, std::string_view message) {
    auto* stream = open(id);
    if (stream == nullptr || stream->end) {
        return false;
    }
    stream->waiting.erase(0, std::exchange(stream->taken, 0));
    stream->waiting += framed(message);
    begin_answer(id, *stream);
    return true;
}

std::size_t GrpcServer::waiting(std::int32_t id) const {
    const auto stream = streams_.find(id);
    return stream == streams_.end() ? 0 : stream->second.waiting.size() - stream->second.taken;
}

void GrpcServer::finish(std::int32_t id, GrpcStatus status) {
    auto* stream = open(id);
    if (stream != nullptr && !stream->end) {
        stream->end = status;
        begin_answer(id, *stream);
    }
}

void GrpcServer::begin_answer(std::int32_t id, Stream& stream) {
    if (std::exchange(stream.answered, true)) {
        (void)::nghttp2_session_resume_data(session_.get(), id); // an error says that it sends already
        return;
    }
    const std::array fields{field(":status", "200"), field("content-type", "application/grpc")};
    nghttp2_data_provider provider{};
    provider.read_callback = &Callbacks::read;
    (void)::nghttp2_submit_response(session_.get(), id, fields.data(), fields.size(), &provider);
}

// By trailers alone, where nothing was answered yet.
void GrpcServer::refuse(std::int32_t id, GrpcStatus status) {
    auto* stream = open(id);
    if (stream == nullptr || stream->end) {
        return;
    }
    stream->refused = true;
    stream->received = {};
    if (stream->answered) {
        finish(id, status);
        return;
    }
    stream->answered = true;
    stream->end = status;
    const auto number = std::to_string(static_cast<int>(status));
    const std::array fields{field(":status", "200"), field("content-type", "application/grpc"),
                            field("grpc-status", number)};
    (void)::nghttp2_submit_response(session_.get(), id, fields.data(), fields.size(), nullptr);
}

Result<std::string> GrpcServer::take_output() {
    std::string output;
    while (output.size() < longest_output) {
        const std::uint8_t* bytes = nullptr;
        const auto size = ::nghttp2_session_mem_send(session_.get(), &bytes);
        if (size < 0) {
            return http2_error(size);
        }
        if (size == 0) {
            break;
        }
        output.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    return output;
}

} // namespace dockdist
