// What a rank shim tells the supervisor of its node: one datagram when the rank begins, with the read ends of
// its stdout and stderr, and one when it has ended. Fixed-size and from the same program, hence plain bytes.
#pragma once

#include "core/result.hpp"
#include "node/system/os.hpp"

#include <cstdint>
#include <optional>

namespace dockdist::node {

struct RankMessage {
    enum class Kind : std::int32_t { begun = 1, ended = 2 };
    Kind kind = Kind::begun;
    std::int32_t rank = -1;
    std::int32_t local_rank = -1;
    std::int32_t code = 0;
    std::int32_t signal = 0;
    std::int64_t at_us = 0; // monotonic_us(): says which of several that were sent is the first
};

struct ReceivedRankMessage {
    RankMessage message{};
    Fd out{}, err{}; // with Kind::begun
};

Status send_rank_message(int socket, const RankMessage& message, int out = -1, int err = -1);
// Nothing when none is there yet; an error when the shim is gone or sends what is none.
Result<std::optional<ReceivedRankMessage>> receive_rank_message(int socket);

} // namespace dockdist::node
