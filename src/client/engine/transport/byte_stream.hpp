// A connected two-way stream of bytes to an engine, whatever carries it.
#pragma once

#include "client/async/task.hpp"

#include <cstddef>
#include <span>

namespace dockdist {

// One reader and one writer at a time. A failed or cancelled read or write leaves the stream good for close()
// only. Errors have no `where`: the caller knows the host.
class ByteStream {
public:
    ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;
    virtual ~ByteStream() = default; // closes

    // At least one byte; 0 when the peer will send no more.
    virtual Task<Result<std::size_t>> read_some(std::span<char> buffer) = 0;
    // All of `bytes`.
    virtual Task<Status> write(std::span<const char> bytes) = 0;
    // Tells the peer that no more bytes come; reading goes on.
    virtual Task<Status> shutdown_send() = 0;
    // Ends pending reads and writes with an error. Their buffers are not touched any more once it has
    // returned.
    virtual void close() noexcept = 0;
    // Whether the peer has closed, or said something that nobody asked for. For a stream that lies idle; does
    // not wait.
    virtual bool stale() = 0;
};

} // namespace dockdist
