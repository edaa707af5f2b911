// Streamed stdout and stderr of an exec or a log, taken out of their frames.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/engine/http/http_stream.hpp"
#include "client/engine/stdio_frames.hpp"

#include <memory>

namespace dockdist {

class StdioReader {
public:
    StdioReader(std::unique_ptr<HttpStream> stream, bool raw, HostName host);

    Task<Result<ExecStream::Chunk>> read();
    HttpStream& stream() { return *stream_; }
    Error located(Error error) const;

private:
    std::unique_ptr<HttpStream> stream_;
    StdioFrames frames_{};
    bool raw_; // a terminal's output: no frames
    HostName host_;
};

std::unique_ptr<ExecStream> make_exec_stream(std::unique_ptr<HttpStream> stream, HostName host);
std::unique_ptr<LogStream> make_log_stream(std::unique_ptr<HttpStream> stream, HostName host);

} // namespace dockdist
