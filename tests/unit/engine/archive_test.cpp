// Files of containers as tars: taken out, and put in while their size is not known.
#include "fakes/text_source.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>

namespace archive_test {

using namespace dockdist;

namespace {

const std::string id = container_id.str();

class Failing final : public ByteSource {
public:
    Task<Result<std::string>> read() override {
        if (std::exchange(begun_, true)) {
            co_return Error{ErrorKind::unreachable, "", "the other side is gone", ""};
        }
        co_return std::string("some");
    }

private:
    bool begun_ = false;
};

} // namespace

TEST_CASE("a folder of a container comes as a tar, in pieces") {
    OverStub stub(always(http_chunked(200, {"ta", "r"})));
    const auto read = [](ContainerEngine& engine) -> Task<Result<std::string>> {
        const auto source = co_await engine.get_archive(container_id, "/var/lib/a b");
        CO_TRY(source);
        std::string all;
        while (true) {
            const auto bytes = co_await (*source)->read();
            CO_TRY(bytes);
            if (bytes->empty()) {
                co_return all;
            }
            all += *bytes;
        }
    };
    CHECK(stub.run(read(*stub.engine)).value() == "tar");
    CHECK(only(stub).line() == "GET /v1.45/containers/" + id + "/archive?path=%2Fvar%2Flib%2Fa%20b");
}

TEST_CASE("a path that a container has not is not_found") {
    OverStub stub(always(http_answer(404, R"({"message":"Could not find the file /x in container"})")));
    CHECK(stub.run(stub.engine->get_archive(container_id, "/x")).error().kind == ErrorKind::not_found);
}

TEST_CASE("a tar of unknown size is put in by chunks") {
    OverStub stub(always(http_answer(200, "")));
    const std::string tar = std::string(2500, 't') + "\r\n0\r\n\r\n";
    CHECK(stub.run(stub.engine->put_archive(container_id, "/incoming", text_source(tar))));
    CHECK(only(stub).line() == "PUT /v1.45/containers/" + id + "/archive?path=%2Fincoming");
    CHECK_FALSE(only(stub).headers.contains("content-length"));
    CHECK(only(stub).body == tar);
}

TEST_CASE("why a tar is not put in: the engine's word, or what was to be sent") {
    OverStub full(always(http_answer(500, R"({"message":"no space left on device"})")));
    const auto refused = full.run(full.engine->put_archive(container_id, "/x", text_source("tar"))).error();
    CHECK(refused.message.ends_with("no space left on device"));
    CHECK(refused.where == "a");
    OverStub cut(always(http_answer(200, "")));
    CHECK(cut.run(cut.engine->put_archive(container_id, "/x", std::make_unique<Failing>())).error().message ==
          "the other side is gone");
}

} // namespace archive_test
