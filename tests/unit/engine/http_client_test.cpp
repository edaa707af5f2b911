// The client over a stream that never waits, as an ssh channel does not for what has come already.
#include "client/engine/http/http_client.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

namespace http_client_test {

using namespace dockdist;

namespace {

class EndedStream final : public ByteStream {
public:
    Task<Result<std::size_t>> read_some(std::span<char>) override { co_return std::size_t{0}; }
    Task<Status> write(std::span<const char>) override { co_return ok; }
    Task<Status> shutdown_send() override { co_return ok; }
    void close() noexcept override {}
    bool stale() override { return true; }
};

class EndedTransport final : public Transport {
public:
    Task<Result<std::unique_ptr<ByteStream>>> connect() override {
        co_return std::unique_ptr<ByteStream>(std::make_unique<EndedStream>());
    }
};

} // namespace

TEST_CASE("a stream that has ended before the request is sent is an error") {
    boost::asio::io_context io;
    HttpClient client(io.get_executor(), std::make_shared<EndedTransport>(), "host");
    for (const auto* method : {"GET", "POST"}) {
        const auto answer = run_task(io, client.call({.method = method, .target = "/_ping"}, {}));
        REQUIRE(answer.has_error());
        CHECK(answer.error().kind == ErrorKind::unreachable);
        CHECK(answer.error().message ==
              std::string("the connection closed before the engine answered ") + method + " /_ping");
    }
}

} // namespace http_client_test
