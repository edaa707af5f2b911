// What an engine asks during a build, and what it is answered.
#include "client/engine/buildkit/build_session.hpp"
#include "client/engine/buildkit/grpc_server.hpp"
#include "fakes/grpc_client.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>

namespace build_session_test {

using namespace dockdist;

namespace {

const std::vector<BuildSecret> secrets{{.id = "TOKEN", .value = "hunter2"}, {.id = "EMPTY"}};
const std::string get_secret = "/moby.buildkit.secrets.v1.Secrets/GetSecret";
const std::string credentials = "/moby.filesync.v1.Auth/Credentials";

std::string first_field(const std::string& text) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_string(1, text);
    return bytes;
}

struct Talk {
    GrpcServer server{{std::string(diff_copy)}};
    GrpcClient client{};
    std::size_t slice = std::string::npos; // bytes that come at a time

    // What each has to say goes to the other, until both are silent. Calls stay with the server.
    void exchange() {
        while (true) {
            const auto there = client.take_output();
            for (std::size_t at = 0; at < there.size(); at += std::min(slice, there.size())) {
                REQUIRE(server.feed(std::string_view(there).substr(at, slice)).has_value());
            }
            const auto back = server.take_output();
            REQUIRE(back.has_value());
            REQUIRE(client.feed(*back));
            if (there.empty() && back->empty()) {
                return;
            }
        }
    }
    const GrpcClient::Answer& ask(std::int32_t stream) {
        exchange();
        for (const auto& call : server.take_calls()) {
            server.answer(call.stream, read_build_question(call, secrets).answer);
        }
        exchange();
        return client.answer(stream);
    }
};

std::string status(const GrpcClient::Answer& answer) {
    CHECK(answer.ended);
    CHECK(answer.fields.at(":status") == "200");
    CHECK(answer.fields.at("content-type") == "application/grpc");
    return answer.fields.at("grpc-status");
}

} // namespace

TEST_CASE("an engine is told the secrets that it asks for, and that it is heard, however it speaks") {
    for (const std::size_t slice : {std::string::npos, std::size_t{1}, std::size_t{7}}) {
        CAPTURE(slice);
        Talk talk;
        talk.slice = slice;
        const auto& token = talk.ask(talk.client.call(get_secret, first_field("TOKEN")));
        CHECK(status(token) == "0");
        CHECK(token.bytes == GrpcClient::framed("\x0a\x07hunter2"));
        const auto& empty = talk.ask(talk.client.call(get_secret, first_field("EMPTY")));
        CHECK(status(empty) == "0");
        const auto& health = talk.ask(talk.client.call("/grpc.health.v1.Health/Check", ""));
        CHECK(status(health) == "0");
        CHECK(health.message() == "\x08\x01");
    }
}

TEST_CASE("what there is not is said in gRPC's words") {
    Talk talk;
    CHECK(status(talk.ask(talk.client.call(get_secret, first_field("OTHER")))) == "5");
    CHECK(status(talk.ask(talk.client.call("/moby.filesync.v1.Auth/FetchToken", first_field("x")))) == "12");
    CHECK(status(talk.ask(talk.client.call("/", ""))) == "12");
    CHECK(status(talk.ask(talk.client.call(get_secret, "\x0a\xff"))) == "13"); // no protobuf
    CHECK(status(talk.ask(talk.client.call_raw(get_secret, "abc"))) == "13");  // no frame
    CHECK(status(talk.ask(talk.client.call_raw(get_secret, std::string("\x01\0\0\0\0", 5)))) == "12");
    const std::string long_one(GrpcServer::longest_message + 1, 'x');
    CHECK(status(talk.ask(talk.client.call(get_secret, long_one))) == "8");
    CHECK(status(talk.ask(talk.client.call(get_secret, first_field("TOKEN")))) == "0"); // it goes on
}

TEST_CASE("a login is found while other calls are answered; one that nobody waits for any more is dropped") {
    Talk talk;
    const auto login = talk.client.call(credentials, first_field("ghcr.io"));
    const auto given_up = talk.client.call(credentials, first_field("quay.io"));
    talk.exchange();
    const auto calls = talk.server.take_calls();
    REQUIRE(calls.size() == 2);
    CHECK(read_build_question(calls[0], secrets).login_for == "ghcr.io");
    CHECK(status(talk.ask(talk.client.call(get_secret, first_field("TOKEN")))) == "0");
    talk.client.reset(given_up);
    talk.exchange();
    talk.server.answer(calls[1].stream, login_answer(BuildLogin{"b", "q"}));
    talk.server.answer(calls[0].stream, login_answer(BuildLogin{"ada", "pw"}));
    talk.server.answer(calls[0].stream, login_answer(std::nullopt)); // once is enough
    talk.exchange();
    CHECK(status(talk.client.answer(login)) == "0");
    CHECK(talk.client.answer(login).message() == "\x0a\x03"
                                                 "ada\x12\x02pw");
    CHECK(talk.client.answer(given_up).bytes.empty());
    CHECK(login_answer(std::nullopt).message.empty());
}

TEST_CASE("a secret of the longest kind arrives whole") {
    const std::string value(64U << 10U, 's');
    Talk talk;
    const auto stream = talk.client.call(get_secret, first_field("TOKEN"));
    talk.exchange();
    for (const auto& call : talk.server.take_calls()) {
        talk.server.answer(
            call.stream,
            read_build_question(call, std::vector<BuildSecret>{{.id = "TOKEN", .value = value}}).answer);
    }
    talk.exchange();
    CHECK(status(talk.client.answer(stream)) == "0");
    CHECK(talk.client.answer(stream).message().ends_with(value));
}

TEST_CASE("a call of many messages has them as they come, both ways, and its own end") {
    Talk talk;
    const auto stream = talk.client.open(
        std::string(diff_copy), {{"dir-name", "context"}, {"followpaths", "a"}, {"followpaths", "b"}});
    talk.exchange();
    auto calls = talk.server.take_calls();
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].kind == GrpcCall::Kind::opened);
    CHECK(calls[0].metadata.find("dir-name")->second == "context");
    CHECK(calls[0].metadata.count("followpaths") == 2);
    const auto there = calls[0].stream;
    talk.server.send(there, "one");
    talk.server.send(there, "");
    talk.client.send(stream, "first");
    talk.client.send(stream, "second");
    talk.exchange();
    CHECK(talk.client.answer(stream).take_messages() == std::vector<std::string>{"one", ""});
    calls = talk.server.take_calls();
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].message == "first");
    CHECK(calls[1].message == "second");
    CHECK(talk.server.waiting(there) == 0);
    const std::string big(1U << 20U, 'b'); // more than the peer takes at once
    talk.server.send(there, big);
    CHECK(talk.server.waiting(there) > big.size());
    talk.client.close(stream);
    talk.exchange();
    CHECK(talk.client.answer(stream).take_messages() == std::vector{big});
    calls = talk.server.take_calls();
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].kind == GrpcCall::Kind::closed);
    CHECK(!talk.client.answer(stream).ended);
    CHECK(talk.server.send(there, "last"));
    CHECK(talk.server.is_open(there));
    talk.server.finish(there, GrpcStatus::good);
    CHECK(!talk.server.is_open(there));
    CHECK(!talk.server.send(there, "too late"));
    talk.exchange();
    CHECK(talk.client.answer(stream).take_messages() == std::vector<std::string>{"last"});
    CHECK(status(talk.client.answer(stream)) == "0");
}

TEST_CASE("a call of many messages that is given up, or says too much, is told") {
    Talk talk;
    const auto given_up = talk.client.open(std::string(diff_copy));
    const auto too_long = talk.client.open(std::string(diff_copy));
    talk.exchange();
    (void)talk.server.take_calls();
    talk.client.reset(given_up);
    talk.client.send(too_long, std::string(GrpcServer::longest_message + 1, 'x'));
    talk.exchange();
    const auto calls = talk.server.take_calls();
    CHECK(std::ranges::count(calls, GrpcCall::Kind::closed, &GrpcCall::kind) >= 1);
    CHECK(!talk.server.is_open(given_up));
    CHECK(!talk.server.send(given_up, "nobody hears it"));
    CHECK(talk.client.answer(too_long).fields.at("grpc-status") == "8");
}

TEST_CASE("what an engine wants of a folder comes whole or is refused") {
    Talk talk;
    std::vector<std::pair<std::string, std::string>> metadata{{"dir-name", "context"}};
    for (int i = 0; i < 40; ++i) {
        metadata.emplace_back("followpaths", std::string(1000, static_cast<char>('a' + i % 26)));
    }
    (void)talk.client.open(std::string(diff_copy), metadata);
    talk.exchange();
    const auto calls = talk.server.take_calls();
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].metadata.count("followpaths") == 40);
    for (int i = 0; i < 40; ++i) {
        metadata.push_back(metadata[1]);
    }
    const auto too_much = talk.client.open(std::string(diff_copy), metadata);
    talk.exchange();
    CHECK(talk.server.take_calls().empty());
    CHECK(talk.client.answer(too_much).fields.at("grpc-status") == "8");
}

TEST_CASE("who speaks no HTTP/2 is told from who does") {
    GrpcServer server;
    const auto fed = server.feed("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(fed.error().kind == ErrorKind::protocol);
}

} // namespace build_session_test
