// The hang watch of a job's part: says when nothing was written on this node for a while, and asks what the
// ranks are doing.
#pragma once

#include "node/job/log/output_log.hpp"
#include "node/job/rank_looks.hpp"
#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dockdist::node {

class SilenceWatch {
public:
    // stall_ms 0: nothing is watched, reports are made all the same.
    SilenceWatch(Loop& loop, OutputLog& log, std::int64_t stall_ms)
        : loop_(loop), log_(log), stall_ms_(stall_ms) {}
    ~SilenceWatch() { end(); }
    SilenceWatch(const SilenceWatch&) = delete;
    SilenceWatch& operator=(const SilenceWatch&) = delete;

    // silent, speaks, reported, examined
    std::function<void(wire::JobEvent)> on_event{};

    void begin(); // of an attempt
    void end();   // also what looks at its ranks
    void heard(std::uint8_t stream, std::int32_t rank, std::string_view bytes);

    // Looks at each of the ranks, by the process that its processes descend from; at `command` where there
    // are none; 0: there is none.
    using Ranks = std::vector<std::pair<std::int32_t, pid_t>>;
    void look(Ranks ranks, pid_t command, const Account& account, const Environment& environment,
              RankLooks::Heard heard, const RankLooks::Manner& manner = {});
    // The same, for whoever carries the job: `examined`. `ended`: of the ranks that run no more.
    void examine(Ranks ranks, pid_t command, const Account& account, const Environment& environment,
                 const RankLooks::Manner& manner, std::vector<int> ended);
    // The same; what is seen goes to the log as if the rank had said it.
    void report(Ranks ranks, pid_t command, const Account& account, const Environment& environment);

private:
    struct Voice {
        std::int64_t last_ms = 0;
        bool line_is_open = false; // on stderr
    };
    void arm(std::int64_t delay_ms);
    void write_seen(const wire::RankStack& stack);
    static void keep_seen(std::vector<wire::RankStack>& seen, wire::RankStack stack);

    Loop& loop_;
    OutputLog& log_;
    std::int64_t stall_ms_;
    Loop::Timer timer_ = 0;
    std::int64_t begun_ms_ = 0;
    std::int64_t last_ms_ = 0; // when anything was written
    bool silent_ = false;      // and that was told
    bool reporting_ = false;
    bool examining_ = false;
    std::map<std::int32_t, Voice> voices_{};
    bool advised_ = false;                // in this report: once is enough
    std::vector<wire::RankStack> seen_{}; // in this report
    std::vector<wire::RankStack> examined_{};
    RankLooks looks_{loop_};
};

} // namespace dockdist::node
