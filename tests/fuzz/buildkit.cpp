// What BuildKit says of a build, and what it asks over the build's session: secrets, logins, files.
#include "client/engine/buildkit/build_session.hpp"
#include "client/engine/buildkit/build_steps.hpp"
#include "client/engine/buildkit/folder_sender.hpp"
#include "client/engine/buildkit/grpc_server.hpp"
#include "client/engine/endpoints/serve_build.hpp"
#include "client/engine/json_decode.hpp"
#include "fakes/grpc_client.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <sys/stat.h>
#include <utility>

namespace {

using namespace dockdist;

// BuildKit's messages about a build: what is kept and told of them is bounded.
void traces(std::string_view text) {
    BuildSteps steps;
    for (const auto& bytes : fuzz::parts(text, 4)) {
        const auto trace = decode_build_trace(to_base64(bytes));
        if (!trace) {
            fuzz::require(fuzz::has_no_controls(trace.error().message), "an error has no controls");
            continue;
        }
        for (const auto& output : steps.take(*trace)) {
            fuzz::require(output.step.size() < 500 && output.step.find('\n') == std::string::npos,
                          "a step is one line");
        }
    }
    fuzz::require(steps.failed_step().size() < 500, "a step that failed is a short line");
    fuzz::require(steps.failed_output().size() < 20'000, "a step's last lines are few");
}

// What the engine asks during a build is the same however it is sliced, and so are the answers.
void questions(std::string_view bytes) {
    const std::vector<BuildSecret> secrets{{.id = "TOKEN", .value = "hunter2"}};
    std::array<std::string, 2> seen;
    for (std::size_t way = 0; way < seen.size(); ++way) {
        GrpcServer server({std::string(diff_copy)});
        bool failed = false;
        std::vector<GrpcCall> calls;
        const auto feed = [&](std::string_view piece) {
            failed = failed || !server.feed(piece);
            for (auto& call : server.take_calls()) {
                fuzz::require(call.message.size() <= GrpcServer::longest_message,
                              "a call keeps to its limit");
                calls.push_back(std::move(call));
            }
        };
        if (way == 0) {
            feed(bytes);
        } else {
            fuzz::in_pieces(bytes, feed);
        }
        for (const auto& call : calls) {
            seen[way] +=
                std::to_string(static_cast<int>(call.kind)) + "|" + call.method + "|" + call.message + "\n";
            if (call.kind != GrpcCall::Kind::whole) {
                server.send(call.stream, call.message);
                continue;
            }
            const auto question = read_build_question(call, secrets);
            fuzz::require(question.login_for.size() <= 300 && fuzz::has_no_controls(question.login_for),
                          "a registry's name is a short word");
            seen[way] += question.login_for + "\n";
            server.answer(call.stream,
                          question.login_for.empty() ? question.answer : login_answer(std::nullopt));
        }
        const auto output = failed ? Result<std::string>("") : server.take_output();
        seen[way] += failed || !output ? "failed" : *output;
    }
    fuzz::require_equal(seen[0], seen[1], "questions are the same however they are sliced");
}

class Files final : public BuildFiles {
public:
    const std::vector<BuildFile>& list() const override { return list_; }
    Result<std::string> read(std::size_t index, std::uint64_t offset, std::size_t size) override {
        return std::string(list_.at(index).size, 'x').substr(std::min(offset, list_.at(index).size), size);
    }

private:
    std::vector<BuildFile> list_{{.name = "a", .mode = S_IFDIR | 0755},
                                 {.name = "a/x", .mode = S_IFREG | 0644, .size = 70'000},
                                 {.name = "b", .mode = S_IFLNK | 0777, .target = "a"},
                                 {.name = "c", .mode = S_IFREG | 0644, .size = 5}};
};

// Whatever the engine asks of a folder: it gets what there is, each file once at most, in messages of a
// bounded size.
void folder(std::string_view text) {
    const auto said = fuzz::parts(text, 6);
    FolderSender sender(std::make_shared<Files>(), split(said[0], '\n'));
    for (std::size_t i = 1; i < said.size(); ++i) {
        if (const auto taken = sender.take(said[i]); !taken) {
            fuzz::require(fuzz::has_no_controls(taken.error().message), "an error has no controls");
        }
        for (auto next = sender.next(); next && *next; next = sender.next()) {
            fuzz::require((*next)->size() < 40'000, "a message is bounded");
        }
    }
    fuzz::require(sender.sent() <= 70'005, "a file is sent once");
}

// The whole of a session, whatever the engine says in it: what is kept for it is bounded, and nothing is read
// for a call that nobody hears.
void session(std::string_view bytes) {
    constexpr std::size_t most_streams = 100; // HTTP/2's until the peer has seen our own number
    boost::asio::io_context io;
    endpoints::Questions all(io.get_executor(), nullptr,
                             {.secrets = {{.id = "TOKEN", .value = "hunter2"}},
                              .folders = {{"context", std::make_shared<Files>()}}});
    bool failed = false;
    fuzz::in_pieces(bytes, [&](std::string_view piece) {
        failed = failed || all.fault || !all.server.feed(piece);
        if (failed) {
            return;
        }
        for (const auto& call : all.server.take_calls()) {
            endpoints::take_question(all, call);
        }
        while (endpoints::send_files(all) && !all.fault) {
            failed = failed || !all.server.take_output();
        }
        fuzz::require(all.logins.size() <= most_streams, "no more logins wait than calls are open");
        for (const auto& [stream, sender] : all.senders) {
            fuzz::require(all.fault || all.server.is_open(stream), "who has given up a folder gets nothing");
            fuzz::require(all.server.waiting(stream) < (300U << 10U), "what waits for the engine is bounded");
        }
        failed = failed || !all.server.take_output();
    });
}

// What of that header takes a connection.
[[maybe_unused]] const auto not_tried = std::pair(&endpoints::session_request, &endpoints::serve_build);

constexpr std::array<fuzz::Read, 4> kinds{traces, questions, folder, session};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto& file : recorded_files("tests/unit/engine/recorded", "build_failed.jsonl")) {
        for (const auto& line : split(file, '\n')) {
            const auto message = decode_build_message(line);
            if (message && !message->trace.empty()) {
                all.push_back(of_kind(0, from_base64(message->trace).value_or("")));
            }
        }
    }
    GrpcClient client;
    client.call("/moby.buildkit.secrets.v1.Secrets/GetSecret", "\x0a\x05TOKEN");
    client.call("/moby.filesync.v1.Auth/Credentials", "\x0a\x01x");
    client.reset(client.call("/grpc.health.v1.Health/Check", ""));
    const auto stream = client.open(std::string(diff_copy), {{"dir-name", "context"}, {"followpaths", "a"}});
    client.send(stream, std::string("\x08\x01\x18\x01", 4));
    const auto talk = client.take_output();
    client.send(stream, std::string("\x08\x03", 2));
    const auto end = client.take_output();
    client.reset(stream);
    all.push_back(of_kind(1, talk));
    all.push_back(of_kind(3, talk + end + client.take_output()));
    all.push_back(
        of_kind(2, of_parts({"a/x", std::string("\x08\x01\x18\x01", 4), std::string("\x08\x03", 2)})));
    all.push_back(of_kind(2, of_parts({"", "\x08\x04\x22\x02no"})));
    return all;
}
