// The client's side of a gRPC connection, without I/O: what an engine does in a build's session.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

class GrpcClient {
public:
    struct Answer {
        std::map<std::string, std::string> fields{}; // headers and trailers
        std::string bytes{};                         // the message with its prefix
        bool ended = false;
        std::string message() const { return bytes.substr(std::min<std::size_t>(bytes.size(), 5)); }
        // Those that have come whole, of a call that has many.
        std::vector<std::string> take_messages() {
            std::vector<std::string> all;
            while (bytes.size() >= 5) {
                std::size_t length = 0;
                for (std::size_t i = 1; i < 5; ++i) {
                    length = length << 8U | static_cast<unsigned char>(bytes[i]);
                }
                if (bytes.size() < 5 + length) {
                    break;
                }
                all.push_back(bytes.substr(5, length));
                bytes.erase(0, 5 + length);
            }
            return all;
        }
    };

    GrpcClient() : session_(nullptr, &::nghttp2_session_del) {
        nghttp2_session_callbacks* callbacks = nullptr;
        ::nghttp2_session_callbacks_new(&callbacks);
        ::nghttp2_session_callbacks_set_on_header_callback(
            callbacks,
            [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
               const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
                of(user).answers_[frame->hd.stream_id].fields[text(name, name_size)] =
                    text(value, value_size);
                return 0;
            });
        ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                          std::size_t size, void* user) {
                of(user).answers_[stream].bytes += text(bytes, size);
                return 0;
            });
        ::nghttp2_session_callbacks_set_on_stream_close_callback(
            callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) {
                of(user).answers_[stream].ended = true;
                return 0;
            });
        nghttp2_option* option = nullptr;
        ::nghttp2_option_new(&option);
        ::nghttp2_option_set_max_send_header_block_length(option, std::size_t{1} << 20U);
        nghttp2_session* session = nullptr;
        ::nghttp2_session_client_new2(&session, callbacks, this, option);
        session_.reset(session);
        ::nghttp2_option_del(option);
        ::nghttp2_session_callbacks_del(callbacks);
        ::nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
    }

    // A message with its prefix.
    static std::string framed(std::string_view message) {
        std::string bytes(1, '\0');
        for (const unsigned shift : {24U, 16U, 8U, 0U}) {
            bytes += static_cast<char>(message.size() >> shift & 0xffU);
        }
        return bytes.append(message);
    }

    // Its stream.
    std::int32_t call(const std::string& method, const std::string& message) {
        return call_raw(method, framed(message));
    }
    std::int32_t call_raw(const std::string& method, std::string body) {
        const auto stream = open(method);
        bodies_[stream] = {std::move(body), true};
        return stream;
    }
    // A call of many messages: send() them, and at the end close().
    std::int32_t open(const std::string& method,
                      const std::vector<std::pair<std::string, std::string>>& metadata = {}) {
        std::vector<nghttp2_nv> fields{field(":method", "POST"),
                                       field(":scheme", "http"),
                                       field(":path", method),
                                       field(":authority", "localhost"),
                                       field("content-type", "application/grpc"),
                                       field("te", "trailers")};
        for (const auto& [name, value] : metadata) {
            fields.push_back(field(name, value));
        }
        nghttp2_data_provider provider{};
        provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* buffer,
                                    std::size_t room, std::uint32_t* flags, nghttp2_data_source*,
                                    void* user) -> ssize_t {
            auto& [rest, last] = of(user).bodies_[stream];
            const auto count = std::min(room, rest.size());
            if (count == 0 && !last) {
                return NGHTTP2_ERR_DEFERRED;
            }
            std::memcpy(buffer, rest.data(), count);
            rest.erase(0, count);
            *flags |= rest.empty() && last ? NGHTTP2_DATA_FLAG_EOF : 0U;
            return static_cast<ssize_t>(count);
        };
        return ::nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(), &provider,
                                        nullptr);
    }
    void send(std::int32_t stream, std::string_view message) {
        bodies_[stream].first += framed(message);
        (void)::nghttp2_session_resume_data(session_.get(), stream);
    }
    void close(std::int32_t stream) {
        bodies_[stream].second = true;
        (void)::nghttp2_session_resume_data(session_.get(), stream);
    }
    void reset(std::int32_t stream) {
        ::nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    }

    std::string take_output() {
        std::string output;
        const std::uint8_t* bytes = nullptr;
        for (auto size = ::nghttp2_session_mem_send(session_.get(), &bytes); size > 0;
             size = ::nghttp2_session_mem_send(session_.get(), &bytes)) {
            output += text(bytes, static_cast<std::size_t>(size));
        }
        return output;
    }
    bool feed(std::string_view bytes) {
        return ::nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                          bytes.size()) >= 0;
    }
    Answer& answer(std::int32_t stream) { return answers_[stream]; }

private:
    static GrpcClient& of(void* user) { return *static_cast<GrpcClient*>(user); }
    static std::string text(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};
    }
    static nghttp2_nv field(std::string_view name, std::string_view value) {
        return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                NGHTTP2_NV_FLAG_NONE};
    }

    std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> session_;
    std::map<std::int32_t, std::pair<std::string, bool>> bodies_{}; // and whether that is all
    std::map<std::int32_t, Answer> answers_{};
};

} // namespace dockdist
