// Images on their way into an engine: loaded out of a tar that is read meanwhile; pulls that fall silent.
#include "client/async/async_event.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>

#include <deque>

namespace load_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

class Pieces final : public ByteSource {
public:
    explicit Pieces(std::deque<Result<std::string>> pieces) : pieces_(std::move(pieces)) {}
    Task<Result<std::string>> read() override {
        if (pieces_.empty()) {
            co_return std::string();
        }
        auto piece = std::move(pieces_.front());
        pieces_.pop_front();
        co_return piece;
    }

private:
    std::deque<Result<std::string>> pieces_;
};

Task<Status> load(OverStub& stub, std::deque<Result<std::string>> pieces, std::uint64_t size,
                  std::vector<std::uint64_t>* sent = nullptr) {
    return stub.engine->load_image(std::make_unique<Pieces>(std::move(pieces)), size,
                                   [sent](std::uint64_t n) {
                                       if (sent != nullptr) {
                                           sent->push_back(n);
                                       }
                                   });
}

const std::string loaded = "{\"stream\":\"Loaded image: a:1\\n\"}\r\n";

// Says `begin` to a pull, and `end` after so many pings.
struct Talk {
    std::string begin{}, end{};
    int pings_before_end = 0;
    int pings = 0;
    AsyncEvent* ends = nullptr;
};

StubServer::Script script_of(Talk& talk) {
    return [&talk](StubConnection connection) -> Task<void> {
        return [](StubConnection with, Talk& told) -> Task<void> {
            while (const auto request = co_await with.read_request()) {
                if (request->target != "/_ping") {
                    co_await with.send("HTTP/1.1 200 OK\r\n\r\n" + told.begin);
                    co_await told.ends->wait();
                    co_return co_await with.send(told.end);
                }
                if (++told.pings == told.pings_before_end) {
                    told.ends->set();
                }
                co_await with.send(ping_answer());
            }
        }(connection, talk);
    };
}

} // namespace

TEST_CASE("an image is loaded as its tar is read") {
    OverStub stub(always(http_chunked(200, {loaded})));
    std::vector<std::uint64_t> sent;
    CHECK(stub.run(load(stub, {std::string("man"), std::string("ifest")}, 8, &sent)).has_value());
    CHECK(sent == std::vector<std::uint64_t>{3, 8});
    const auto& request = stub.server.requests().front();
    CHECK(request.line() == "POST /v1.45/images/load?quiet=1");
    CHECK(request.headers.at("content-type") == "application/x-tar");
    CHECK(request.headers.at("content-length") == "8");
    CHECK(request.body == "manifest");
}

TEST_CASE("why an image is not loaded: the engine's word inside its 200, its end, or what was to be sent") {
    OverStub refusing(always(http_chunked(
        200,
        {R"({"errorDetail":{"message":"no space left on device"},"error":"no space left on device"})"})));
    const auto full = refusing.run(load(refusing, {std::string("x")}, 1)).error();
    CHECK(full.message == "load an image: no space left on device");
    CHECK(full.where == "a");
    OverStub silent(always(http_chunked(200, {})));
    CHECK(silent.run(load(silent, {std::string("x")}, 1)).error().message ==
          "load an image: it ended without an image");
    const Error gone{ErrorKind::internal, "/tmp/0", "a file of the image is gone", ""};
    OverStub cut(always(http_chunked(200, {loaded})));
    CHECK(cut.run(load(cut, {std::string("x"), gone}, 5)).error().message == gone.message);
    OverStub longer(always(http_chunked(200, {loaded})));
    CHECK(longer.run(load(longer, {std::string("xyz")}, 2)).error().kind == ErrorKind::internal);
}

TEST_CASE("a pull may be silent for long while what has come is extracted") {
    Talk talk{.begin = "{\"status\":\"Pulling fs layer\",\"id\":\"l\"}\n"
                       "{\"status\":\"Download complete\",\"id\":\"l\"}\n",
              .end = "{\"status\":\"Status: Downloaded\"}\n",
              .pings_before_end = 12};
    OverStub stub(script_of(talk), {.pull_silence = 20ms, .build_silence = 5ms});
    AsyncEvent ends(stub.io.get_executor());
    talk.ends = &ends;
    CHECK(stub.run(stub.engine->pull_image(ImageRef("x"), "", "", {})).has_value());
    CHECK(talk.pings >= 12);
}

TEST_CASE("a pull that is silent while a layer comes is given up") {
    Talk talk{.begin = "{\"status\":\"Download complete\",\"id\":\"l\"}\n"
                       "{\"status\":\"Pulling fs layer\",\"id\":\"m\"}\n"};
    OverStub stub(script_of(talk), {.pull_silence = 20ms, .build_silence = 5ms});
    AsyncEvent ends(stub.io.get_executor());
    talk.ends = &ends;
    const auto error = stub.run(stub.engine->pull_image(ImageRef("x"), "", "", {})).error();
    CHECK(error.message == "pull image x: the engine said nothing for 0.02 s");
}

} // namespace load_test
