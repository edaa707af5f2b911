// What an engine may answer: heads, bodies of every kind, upgraded streams, frames. Each input is a call and
// the answers to its requests, one after the other; then the engine closes.
#include "client/engine/endpoints/archives.hpp"
#include "client/engine/endpoints/build.hpp"
#include "client/engine/endpoints/containers.hpp"
#include "client/engine/endpoints/exec.hpp"
#include "client/engine/endpoints/images.hpp"
#include "client/engine/endpoints/logs.hpp"
#include "client/engine/endpoints/system.hpp"
#include "client/engine/http/response_parser.hpp"
#include "client/engine/stdio_frames.hpp"
#include "fakes/run_task.hpp"
#include "fuzz/fuzz.hpp"

#include <array>
#include <deque>

namespace {

using namespace dockdist;

using Answers = std::shared_ptr<std::deque<std::string>>;

// A build's messages are read alike with BuildKit, which asks back first (buildkit.cpp).
constexpr std::string_view good_ping =
    "HTTP/1.1 200 OK\r\nApi-Version: 1.45\r\nBuilder-Version: 1\r\nContent-Length: 2\r\n\r\nOK";

// Each request is answered by the next of the answers; where there is none, and after the last, the stream
// has ended.
class ScriptedStream final : public ByteStream {
public:
    explicit ScriptedStream(Answers answers) : answers_(std::move(answers)) {}

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override {
        const auto size = std::min({buffer.size(), readable_.size(), std::size_t{1} + readable_.size() / 3});
        std::ranges::copy(readable_.substr(0, size), buffer.begin());
        readable_.erase(0, size);
        co_return size;
    }
    Task<Status> write(std::span<const char> bytes) override {
        if (std::string_view(bytes.data(), bytes.size()).find(" HTTP/1.1\r\n") != std::string_view::npos &&
            !answers_->empty()) {
            readable_ += answers_->front();
            answers_->pop_front();
        }
        co_return ok;
    }
    Task<Status> shutdown_send() override { co_return ok; }
    void close() noexcept override { readable_.clear(); }
    bool stale() override { return !readable_.empty(); }

private:
    Answers answers_;
    std::string readable_{};
};

class ScriptedTransport final : public Transport {
public:
    explicit ScriptedTransport(Answers answers) : answers_(std::move(answers)) {}
    Task<Result<std::unique_ptr<ByteStream>>> connect() override {
        co_return std::unique_ptr<ByteStream>(std::make_unique<ScriptedStream>(answers_));
    }

private:
    Answers answers_;
};

class ScriptedEngine final : public endpoints::SystemEndpoints,
                             public endpoints::ContainerEndpoints,
                             public endpoints::ArchiveEndpoints,
                             public endpoints::LogEndpoints,
                             public endpoints::ExecEndpoints,
                             public endpoints::ImageEndpoints,
                             public endpoints::BuildEndpoints {
public:
    explicit ScriptedEngine(Session session) : EngineCalls(std::move(session)) {}
    ~ScriptedEngine() override { session_->http.close(); }
    const HostName& host() const override { return session_->endpoint.host; }
    const EngineAddress& address() const override { return session_->endpoint.address; }
    int round_trips() const override { return session_->round_trips(); }
    bool podman() const override { return session_->podman(); }
};

template <class T>
bool judge(const Result<T>& result) {
    if (!result) {
        fuzz::require(result.error().where.starts_with("host-a"), "an engine's error names its host");
        fuzz::require(!result.error().message.empty(), "an error says what is wrong");
        fuzz::require(fuzz::has_no_controls(result.error().message) &&
                          fuzz::has_no_controls(result.error().hint),
                      "no engine's answer gets control characters into a message");
        fuzz::require(result.error().message.size() < 8192, "a message is bounded");
    }
    return result.has_value();
}

// Everything that a stream has to say; `next` gives a Result, `ends` sees the end in it.
template <class Next, class Ends>
Task<void> drain(Next next, Ends ends) {
    while (true) {
        const auto piece = co_await next();
        if (!judge(piece) || ends(*piece)) {
            co_return;
        }
    }
}

const ContainerId container(std::string(64, 'c'));

Task<void> exec(ContainerEngine& engine) {
    const auto stream = co_await engine.start_exec(ExecId("e"));
    if (judge(stream)) {
        (void)co_await (*stream)->write(std::string_view("input"));
        co_await drain([&] { return (*stream)->read(); },
                       [](const ExecStream::Chunk& chunk) { return chunk.end; });
    }
}

Task<void> logs(ContainerEngine& engine) {
    const auto stream = co_await engine.container_logs(container, {});
    if (judge(stream)) {
        co_await drain([&] { return (*stream)->read(); },
                       [](const ExecStream::Chunk& chunk) { return chunk.end; });
    }
}

Task<void> events(ContainerEngine& engine) {
    const auto stream = co_await engine.events({});
    if (judge(stream)) {
        co_await drain([&] { return (*stream)->next(); }, [](const EngineEvent&) { return false; });
    }
}

Task<void> exported(ContainerEngine& engine) {
    const auto stream = co_await engine.export_image(ImageRef("a:b"));
    if (judge(stream)) {
        co_await drain([&] { return (*stream)->read(); },
                       [](const std::string& bytes) { return bytes.empty(); });
    }
}

Task<void> archived(ContainerEngine& engine) {
    auto source = co_await engine.get_archive(container, "/x");
    if (judge(source)) {
        judge(co_await engine.put_archive(container, "/y", std::move(*source)));
    }
}

Task<void> image_calls(ContainerEngine& engine) {
    judge(co_await engine.tag_image(ImageRef("a:b"), "c", "d"));
    judge(co_await engine.import_image("a", "b", std::string_view("tar")));
    judge(co_await engine.remove_image(ImageRef("a:b")));
    judge(co_await engine.put_archive(container, "/x", std::string_view("tar")));
}

using Call = Task<void> (*)(ContainerEngine&);
constexpr std::array<Call, 19> calls{
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.ping()); },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.info()); },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.list_containers({.labels = {"a=b"}}));
    },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.inspect_container(container)); },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.create_container("n", {.image = ImageRef("i")}));
    },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.start_container(container)); },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.container_log_tail(container, 5)); },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.create_exec(container, {.command = {"true"}}));
    },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.inspect_exec(ExecId("e"))); },
    [](ContainerEngine& engine) -> Task<void> { judge(co_await engine.inspect_image(ImageRef("a:b"))); },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.inspect_volume("v"));
        judge(co_await engine.list_volumes({"a=b"}));
        judge(co_await engine.create_volume("v", {{"a", "b"}}));
    },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.pull_image(ImageRef("a:b"), "linux/amd64", "", [](const PullProgress&) {}));
    },
    [](ContainerEngine& engine) -> Task<void> {
        judge(co_await engine.build_image({.reference = ImageRef("a:b")}, std::string_view("tar"),
                                          [](const BuildOutput&) {}));
    },
    exec,
    logs,
    events,
    exported,
    image_calls,
    archived};

void call(std::size_t which, std::string_view text) {
    boost::asio::io_context io;
    const auto answers = std::make_shared<std::deque<std::string>>();
    for (auto& answer : fuzz::parts(text, 4)) {
        answers->push_back(std::move(answer));
    }
    if (which != 0) {
        answers->push_front(std::string(good_ping));
    }
    const EngineEndpoint endpoint{
        .host = HostName("host-a"),
        .address = {.scheme = EngineAddress::Scheme::tcp, .host = "127.0.0.1", .port = Port{1}}};
    ScriptedEngine engine(std::make_shared<EngineSession>(io.get_executor(), endpoint,
                                                          std::make_unique<ScriptedTransport>(answers)));
    run_task(io, calls[which](engine));
}

// A response is the same however it is sliced.
void response(std::string_view bytes) {
    std::array<std::string, 2> seen;
    for (std::size_t way = 0; way < seen.size(); ++way) {
        ResponseParser parser(100'000);
        std::string fed;
        bool failed = false;
        const auto feed = [&](std::string_view piece) {
            if (failed || parser.done()) {
                fed += piece;
                return;
            }
            const auto taken = parser.feed(piece);
            failed = !taken;
            seen[way] += failed ? "" : parser.take_body();
        };
        if (way == 0) {
            feed(bytes);
        } else {
            fuzz::in_pieces(bytes, feed);
        }
        const bool was_done = parser.done();
        if (failed || !parser.feed_end()) {
            seen[way] = "failed"; // at which byte it is noticed depends on the slicing
            continue;
        }
        seen[way] += parser.take_body() + (was_done ? " done" : " ended");
        if (parser.header_done()) {
            seen[way] += " " + std::to_string(parser.status()) + (parser.keep_alive() ? " kept" : "");
            for (const auto& [name, value] : parser.headers()) {
                fuzz::require(name.find_first_of("\r\n") == std::string::npos &&
                                  value.find_first_of("\r\n") == std::string::npos,
                              "a header is one line");
                seen[way] += "\n" + name + ": " + value;
            }
        }
        if (was_done) {
            seen[way] += "\n" + parser.take_rest() + fed;
        }
    }
    fuzz::require_equal(seen[0], seen[1], "a response is the same however it is sliced");
}

void frames(std::string_view bytes) {
    std::array<std::string, 2> seen;
    for (std::size_t way = 0; way < seen.size(); ++way) {
        StdioFrames frames;
        std::array<std::string, 3> said;
        bool failed = false;
        const auto feed = [&](std::string_view piece) {
            frames.feed(piece);
            while (!failed) {
                const auto next = frames.next();
                failed = !next;
                if (failed || !*next) {
                    break;
                }
                fuzz::require((*next)->bytes.size() <= 65536, "a chunk keeps to its limit");
                said.at(static_cast<std::size_t>((*next)->stream)) += (*next)->bytes;
            }
        };
        if (way == 0) {
            feed(bytes);
        } else {
            fuzz::in_pieces(bytes, feed);
        }
        seen[way] = said[0] + "|" + said[1] + "|" + said[2] +
                    (failed                 ? " failed"
                     : frames.at_boundary() ? " whole"
                                            : " cut");
    }
    fuzz::require_equal(seen[0], seen[1], "frames are the same however they are sliced");
}

std::string answer(const std::string& body, const std::string& status = "200 OK") {
    return "HTTP/1.1 " + status +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

std::string chunked(const std::string& body) {
    char size[20];
    std::snprintf(size, sizeof(size), "%zx", body.size());
    return std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") + size + "\r\n" + body +
           "\r\n0\r\n\r\n";
}

} // namespace

void fuzz::one_input(std::string_view input) {
    const auto [kind, text] = kinded(input, calls.size() + 2);
    if (kind < calls.size()) {
        call(kind, text);
    } else if (kind == calls.size()) {
        response(text);
    } else {
        frames(text);
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all{
        of_kind(0, good_ping),
        of_kind(calls.size(), answer("{}")),
        of_kind(calls.size(), chunked("abc")),
        of_kind(calls.size(), "HTTP/1.1 204 No Content\r\n\r\nrest"),
        of_kind(calls.size(), "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end"),
        of_kind(calls.size(), "HTTP/1.1 100 Continue\r\n\r\n" + answer("{}"))};
    const auto add = [&](std::size_t kind, std::string_view named, bool as_chunks = false) {
        for (const auto& body : recorded_files("tests/unit/engine/recorded", named)) {
            if (body.size() < 8000) {
                all.push_back(of_kind(kind, as_chunks ? chunked(body) : answer(body)));
            }
        }
    };
    add(1, "26.1/info.json");
    add(2, "20.10/containers.json");
    add(3, "20.10/container_running.json");
    add(4, "20.10/create.json");
    add(7, "20.10/exec_created.json");
    add(8, "20.10/exec_ended.json");
    add(9, "20.10/image.json");
    add(10, "20.10/volume.json");
    add(11, "20.10/pull_failed.jsonl", true);
    add(15, "20.10/events.jsonl", true);
    add(12, "26.1/build_cached.jsonl", true);
    for (std::size_t kind = 1; kind < calls.size(); ++kind) {
        all.push_back(of_kind(kind, answer(R"({"message":"no such thing"})", "404 Not Found")));
    }
    all.push_back(of_kind(
        11,
        chunked("{\"status\":\"Downloading\",\"id\":\"ab\",\"progressDetail\":{\"current\":1,\"total\":2}}\n"
                "{\"error\":\"denied\",\"errorDetail\":{\"message\":\"denied\"}}\n")));
    all.push_back(
        of_kind(12, chunked("{\"stream\":\"Step 1/2 : FROM x\\n\"}\n{\"aux\":{\"ID\":\"sha256:ab\"}}\n"
                            "{\"errorDetail\":{\"code\":7,\"message\":\"no\"},\"error\":\"no\"}\n")));
    const std::string framed("\1\0\0\0\0\0\0\3out\2\0\0\0\0\0\0\3err", 22);
    const std::string upgraded =
        "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n"
        "Upgrade: tcp\r\n\r\n";
    all.push_back(of_kind(13, upgraded + framed));
    all.push_back(of_kind(6, answer(framed)));
    all.push_back(of_kind(14, chunked(framed)));
    all.push_back(of_kind(14, "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                              "Api-Version: 1.45\r\n\r\nraw"));
    all.push_back(of_kind(16, chunked("tar")));
    all.push_back(of_kind(
        17, of_parts({answer("", "201 Created"), chunked("{\"status\":\"x\"}"), answer("[]"), answer("")})));
    all.push_back(of_kind(calls.size() + 1, framed));
    return all;
}
