// What comes out of a job's pipes, and goes into its log.
#pragma once

#include "node/job/log/output_log.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dockdist::node {

class OutputPipes {
public:
    OutputPipes(Loop& loop, OutputLog& log) : loop_(loop), log_(log) {}

    std::function<void(std::uint8_t stream, std::int32_t rank, std::string_view bytes)> on_output{};

    // Until its end; the pipe stays where it is, or is drained before it goes.
    void watch(const Fd& pipe, std::uint8_t stream, std::int32_t rank);
    // Takes what is in the pipe now. Whoever holds the other end may go on writing, so it does not wait for
    // the end. Closed when it has come to its end.
    void drain(Fd& pipe, std::uint8_t stream, std::int32_t rank);
    void forget(Fd& pipe);

private:
    bool read(const Fd& pipe, std::uint8_t stream, std::int32_t rank);

    Loop& loop_;
    OutputLog& log_;
    std::string buffer_ = std::string(256U << 10U, '\0');
};

} // namespace dockdist::node
