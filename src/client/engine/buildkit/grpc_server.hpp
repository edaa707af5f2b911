// The server's side of one gRPC connection, without I/O: bytes in, calls out; answers in, bytes out. Calls of
// one message each way, uncompressed, which is all that BuildKit's sessions need here.
//
// gRPC over HTTP/2: github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. HTTP/2 itself is libnghttp2's.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct nghttp2_session;

namespace dockdist {

enum class GrpcStatus { // those of gRPC that we answer with
    good = 0,
    not_found = 5,
    resource_exhausted = 8,
    unimplemented = 12,
    internal = 13
};

struct GrpcAnswer {
    GrpcStatus status = GrpcStatus::good;
    std::string message{}; // of `good`
};

struct GrpcCall {
    enum class Kind {
        whole,   // a call with its one message
        opened,  // one of a method of many messages, which come by `message`
        message, // one of them
        closed   // the peer sends no more there, or has given it up
    };
    Kind kind = Kind::whole;
    std::int32_t stream = 0; // of this connection; an answer bears it
    std::string method{};    // "/grpc.health.v1.Health/Check"
    std::string message{};
    std::multimap<std::string, std::string> metadata{}; // of `opened`: the headers
};

class GrpcServer {
public:
    // What the peer may have open at a time, and the longest message that it may send; longer ones are
    // answered here.
    static constexpr std::uint32_t most_calls = 32;
    static constexpr std::size_t longest_message = 64U << 10U;

    // The methods whose calls have many messages.
    explicit GrpcServer(std::vector<std::string> of_many = {});
    GrpcServer(const GrpcServer&) = delete;
    GrpcServer& operator=(const GrpcServer&) = delete;
    ~GrpcServer();

    // What the peer has sent. An error (protocol) when that is no HTTP/2: the connection is of no use any
    // more.
    Status feed(std::string_view bytes);
    // The calls that have come whole since the last time.
    std::vector<GrpcCall> take_calls();
    // One whose call the peer has given up meanwhile is dropped.
    void answer(std::int32_t stream, GrpcAnswer answer);
    // Whether an answer to that call would be heard: it is there, and has not been answered to its end.
    bool is_open(std::int32_t stream) const;
    // Of a call of many messages: one more (false: that call is not open); how many bytes wait there for the
    // peer to take them; the end.
    bool send(std::int32_t stream, std::string_view message);
    std::size_t waiting(std::int32_t stream) const;
    void finish(std::int32_t stream, GrpcStatus status);
    // What is to be sent, as much as the peer takes now; empty: nothing for now.
    Result<std::string> take_output();

private:
    struct Stream {
        std::string method{}, received{};
        std::multimap<std::string, std::string> metadata{};
        std::size_t metadata_size = 0;
        bool of_many = false, refused = false;
        std::string waiting{}; // framed
        std::size_t taken = 0; // of it
        bool answered = false; // its headers are on their way
        std::optional<GrpcStatus> end{};
    };
    struct Callbacks;

    void refuse(std::int32_t stream, GrpcStatus status);
    void received_headers(std::int32_t id);
    void received_some(std::int32_t id);
    void received_all(std::int32_t id);
    Stream* open(std::int32_t id);
    void begin_answer(std::int32_t id, Stream& stream);

    std::vector<std::string> of_many_;
    std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> session_;
    std::map<std::int32_t, Stream> streams_{};
    std::vector<GrpcCall> calls_{};
};

} // namespace dockdist
