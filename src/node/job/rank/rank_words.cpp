#include "node/job/rank/rank_words.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"

#include <cerrno>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int highest_code = 255;
constexpr int highest_signal = 127;

bool is_rank_number(std::int32_t number) {
    return number >= -1 && number <= wire::max_rank;
}

} // namespace

std::string rank_words(const RankBegin& begun) {
    return std::to_string(begun.rank) + " " + std::to_string(begun.local_rank) + " " +
           std::to_string(begun.shim);
}

std::optional<RankBegin> parse_rank_words(std::string_view words) {
    const auto parts = split(words, ' ');
    if (parts.size() != 3) {
        return std::nullopt;
    }
    const auto rank = whole_number<std::int32_t>(parts[0]);
    const auto local_rank = whole_number<std::int32_t>(parts[1]);
    const auto shim = whole_number<pid_t>(parts[2]);
    const bool fits =
        rank && local_rank && shim && is_rank_number(*rank) && is_rank_number(*local_rank) && *shim > 1;
    return fits ? std::optional(RankBegin{.rank = *rank, .local_rank = *local_rank, .shim = *shim})
                : std::nullopt;
}

void send_rank_end(int to_supervisor, const RankEnd& end) {
    (void)::write(to_supervisor, &end, sizeof end);
}

HeardRankEnd hear_rank_end(int from_shim) {
    RankEnd end;
    const auto count = ::read(from_shim, &end, sizeof end);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return {};
    }
    const bool fits = count == static_cast<ssize_t>(sizeof end) && end.code >= 0 &&
                      end.code <= highest_code && end.signal >= 0 && end.signal <= highest_signal;
    return {.is_over = true, .end = fits ? std::optional(end) : std::nullopt};
}

} // namespace dockdist::node
