// The hang watch of a job's part: says when nothing was written on this node for a while, and asks what the
// ranks are doing.
#pragma once

#include "node/job/log/output_log.hpp"
#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

    // silent, speaks, reported
    std::function<void(wire::JobEvent::Type)> on_event{};

    void begin(); // of an attempt
    void end();   // also what looks at its ranks
    void heard(std::uint8_t stream, std::int32_t rank, std::string_view bytes);

    // Looks at each of the ranks (and the process that their processes descend from) side by side, as the
    // job's user; what is seen goes to the log as if the rank had said it. `command` is looked at where there
    // are no ranks; 0: there is none.
    using Ranks = std::vector<std::pair<std::int32_t, pid_t>>;
    void report(Ranks ranks, pid_t command, const Account& account, const Environment& environment);

private:
    struct Voice {
        std::int64_t last_ms = 0;
        bool line_is_open = false; // on stderr
    };
    struct Look {
        std::int32_t rank = -1;
        pid_t pid = 0;
        Fd output{};
    };
    void arm(std::int64_t delay_ms);
    void begin_look(std::int32_t rank, pid_t root, const Account& account, const Environment& environment);
    void hear(Look& look);
    void tell_when_reported();

    Loop& loop_;
    OutputLog& log_;
    std::int64_t stall_ms_;
    Loop::Timer timer_ = 0;
    std::int64_t begun_ms_ = 0;
    std::int64_t last_ms_ = 0; // when anything was written
    bool silent_ = false;      // and that was told
    bool reporting_ = false;
    std::map<std::int32_t, Voice> voices_{};
    std::vector<std::unique_ptr<Look>> looks_{};
};

} // namespace dockdist::node
