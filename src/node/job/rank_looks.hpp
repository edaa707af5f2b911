// Looks at the ranks of a part side by side (node/job/rank_look.hpp, flight_look.hpp), and asks NCCL's RAS
// about them (ras_client.hpp), each by a process of its own that is the job's user: a child of the
// supervisor, and so below PID 1, which ranks let trace them.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/stacks.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

class RankLooks {
public:
    explicit RankLooks(Loop& loop) : loop_(loop) {}
    ~RankLooks() { end(); }
    RankLooks(const RankLooks&) = delete;
    RankLooks& operator=(const RankLooks&) = delete;

    struct Wanted {
        std::int32_t rank = -1;
        pid_t root = 0; // from which its processes descend
        std::int64_t silent_ms = 0;
    };
    struct Manner {
        std::int64_t pause_ms = 0; // between two looks; 0: the usual one
        bool asks_ras = true;
    };
    struct Heard {
        std::function<void(wire::RankStack)> seen{}; // once for each
        // After the last one, at once where there is none; with what RAS says of all.
        std::function<void(const wire::RasReport&)> over{};
    };
    void begin(const std::vector<Wanted>& wanted, const Manner& manner, const Account& account,
               const Environment& environment, Heard heard);
    void end(); // of all that are under way: nothing more is seen, and each is over

private:
    struct Group { // that was wanted at once
        Heard heard{};
        wire::RasReport ras{};
    };
    struct Look {
        Wanted wanted{};
        bool is_ras = false; // it asks RAS, by what this rank's environment says
        pid_t pid = 0;
        Fd output{};
        std::string text{};
        std::shared_ptr<Group> group{};
    };
    using Work = std::function<std::string()>; // a line; it runs in a process of its own
    void begin_look(Look look, const Account& account, const Work& work);
    void hear(Look& look);
    void has_told(Look& look);
    void tell(const Look& look);
    bool is_under_way(const std::shared_ptr<Group>& group) const;

    Loop& loop_;
    std::vector<std::unique_ptr<Look>> looks_{};
};

} // namespace dockdist::node
