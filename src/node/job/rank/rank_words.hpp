// What a rank shim says to the supervisor of its node: when it knocks (node/system/fifo_door.hpp), who it is;
// and when its rank has ended, how. Both come from a process of the job's user, which may say anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace dockdist::node {

struct RankBegin {
    std::int32_t rank = -1; // none: -1
    std::int32_t local_rank = -1;
    pid_t shim = 0;
};
std::string rank_words(const RankBegin& begun);
// Nothing where a number is none, or beyond what a client takes.
std::optional<RankBegin> parse_rank_words(std::string_view words);

// Of a fixed size and from the same program, hence plain bytes.
struct RankEnd {
    std::int32_t code = 0;
    std::int32_t signal = 0;
    std::int64_t at_us = 0; // monotonic_us(): says which of several that were sent is the first
};
void send_rank_end(int to_supervisor, const RankEnd& end);
struct HeardRankEnd {
    bool is_over = false; // the end was told, or the shim is gone
    std::optional<RankEnd> end{};
};
HeardRankEnd hear_rank_end(int from_shim);

} // namespace dockdist::node
