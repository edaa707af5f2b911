#include "client/engine/stdio_stream.hpp"

#include <utility>

namespace dockdist {

StdioReader::StdioReader(std::unique_ptr<HttpStream> stream, bool raw, HostName host)
    : stream_(std::move(stream)), raw_(raw), host_(std::move(host)) {}

Error StdioReader::located(Error error) const {
    error.where = host_.str();
    return error;
}

Task<Result<ExecStream::Chunk>> StdioReader::read() {
    while (true) {
        if (!raw_) {
            auto chunk = frames_.next();
            if (!chunk) {
                co_return located(chunk.error());
            }
            if (*chunk) {
                co_return std::move(**chunk);
            }
        }
        auto bytes = co_await stream_->read();
        if (!bytes) {
            co_return located(bytes.error());
        }
        if (bytes->empty()) {
            if (!raw_ && !frames_.at_boundary()) {
                co_return located({ErrorKind::unreachable, "",
                                   "the engine's output stream ended in the middle of a frame", ""});
            }
            co_return ExecStream::Chunk{StdStream::out, "", true};
        }
        if (raw_) {
            co_return ExecStream::Chunk{StdStream::out, std::move(*bytes), false};
        }
        frames_.feed(*bytes);
    }
}

namespace {

class DockerExecStream final : public ExecStream {
public:
    DockerExecStream(std::unique_ptr<HttpStream> stream, HostName host)
        : reader_(std::move(stream), false, std::move(host)) {}

    Task<Result<Chunk>> read() override { return reader_.read(); }

    Task<Status> write(std::span<const char> bytes) override {
        const auto written = co_await reader_.stream().write(bytes);
        if (!written) {
            co_return reader_.located(written.error());
        }
        co_return ok;
    }

    Task<Status> close_stdin() override {
        const auto closed = co_await reader_.stream().shutdown_send();
        if (!closed) {
            co_return reader_.located(closed.error());
        }
        co_return ok;
    }

private:
    StdioReader reader_;
};

class DockerLogStream final : public LogStream {
public:
    DockerLogStream(std::unique_ptr<HttpStream> stream, bool raw, HostName host)
        : reader_(std::move(stream), raw, std::move(host)) {}
    Task<Result<ExecStream::Chunk>> read() override { return reader_.read(); }

private:
    StdioReader reader_;
};

} // namespace

std::unique_ptr<ExecStream> make_exec_stream(std::unique_ptr<HttpStream> stream, HostName host) {
    return std::make_unique<DockerExecStream>(std::move(stream), std::move(host));
}

std::unique_ptr<LogStream> make_log_stream(std::unique_ptr<HttpStream> stream, HostName host) {
    // Told from API 1.42 on; before it, dockdist's containers have no terminal, so there are frames.
    const bool raw = find_header(stream->headers(), "Content-Type") == "application/vnd.docker.raw-stream" &&
                     !find_header(stream->headers(), "Api-Version").empty() &&
                     find_header(stream->headers(), "Api-Version") > std::string_view("1.41");
    return std::make_unique<DockerLogStream>(std::move(stream), raw, std::move(host));
}

} // namespace dockdist
