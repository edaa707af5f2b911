// A streamed answer as lines: engines send one JSON value a line.
#pragma once

#include "client/engine/http/http_stream.hpp"

#include <memory>
#include <optional>
#include <string>

namespace dockdist {

class LineStream {
public:
    explicit LineStream(std::unique_ptr<HttpStream> stream) : stream_(std::move(stream)) {}

    // The next line that is not blank, without its end; nothing when the stream has ended. A line is at most
    // 4 MiB.
    Task<Result<std::optional<std::string>>> next();

private:
    std::unique_ptr<HttpStream> stream_;
    std::string buffer_{};
    std::size_t searched_ = 0; // no line end before this
    bool ended_ = false;
};

} // namespace dockdist
