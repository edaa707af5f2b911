// What comes out of a job's pipes, and goes into its log.
#pragma once

#include "node/job/log/output_log.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dockdist::node {

class OutputPipes {
public:
    OutputPipes(Loop& loop, OutputLog& log) : loop_(loop), log_(log) {}

    std::function<void(std::uint8_t stream, std::int32_t rank, std::string_view bytes)> on_output{};

    // Until its end, when it is closed. It does not block, and stays where it is until it is forgotten.
    void watch(Fd& pipe, std::uint8_t stream, std::int32_t rank);
    // Takes what is in the pipe now, and no more: whoever holds the other end may go on writing for ever.
    void drain(Fd& pipe, std::uint8_t stream, std::int32_t rank);
    void forget(Fd& pipe);

private:
    std::size_t read(Fd& pipe, std::uint8_t stream, std::int32_t rank);

    Loop& loop_;
    OutputLog& log_;
    std::size_t watched_ = 0;
    std::string buffer_ = std::string(256U << 10U, '\0');
};

} // namespace dockdist::node
