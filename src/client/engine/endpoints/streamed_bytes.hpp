// The body of an answer as it comes. Included by docker_engine.cpp alone.
#pragma once

#include "client/engine/engine_calls.hpp"
#include "client/engine/http/http_stream.hpp"

#include <memory>
#include <string>
#include <utility>

namespace dockdist::endpoints {
namespace {

class StreamedBytes final : public ByteSource {
public:
    StreamedBytes(Session session, std::unique_ptr<HttpStream> stream)
        : session_(std::move(session)), stream_(std::move(stream)) {}
    Task<Result<std::string>> read() override {
        auto bytes = co_await stream_->read();
        if (!bytes) {
            co_return session_->located(bytes.error());
        }
        co_return bytes;
    }

private:
    Session session_;
    std::unique_ptr<HttpStream> stream_;
};

std::unique_ptr<ByteSource> bytes_of(Session session, std::unique_ptr<HttpStream> stream) {
    return std::make_unique<StreamedBytes>(std::move(session), std::move(stream));
}

} // namespace
} // namespace dockdist::endpoints
