// All that a stream of an engine brings.
#pragma once

#include "client/container/container_engine.hpp"

#include <optional>
#include <string>

namespace dockdist {

struct Output {
    std::string out{}, err{};
    std::optional<Error> error{}; // that ended it
};

// Of an ExecStream or a LogStream.
template <class Stream>
Task<Output> read_to_end(Stream& stream) {
    Output output;
    while (true) {
        const auto chunk = co_await stream.read();
        if (!chunk) {
            output.error = chunk.error();
            co_return output;
        }
        if (chunk->end) {
            co_return output;
        }
        (chunk->stream == StdStream::out ? output.out : output.err) += chunk->bytes;
    }
}

} // namespace dockdist
