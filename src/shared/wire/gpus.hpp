// Which GPUs a job may have, in the opening of a job and in what the nodes answer (shared/wire/job.hpp,
// "GPUs").
//
// What is taken is a *unit*: a GPU, by its UUID; where MIG splits one, its instances, by theirs; on a node
// without GPUs one of its slots, `slot:CLUSTER/NODE/I`.
//
// How a job gets them: its opening (shared/wire/job.hpp) asks for units of the node. Where nobody waits and
// enough are free, the node takes them at once, and says so in `prepared`. Else the job gets into line, over
// all its nodes alike:
//   → {"type":"line","order":O}
//          to all: a node that has taken gives back; each writes a ticket with the next number of its host,
//          not final yet
//   ← turn from all, with that number
//   → {"type":"line","order":O,"number":N}
//          to all, the greatest of these: the ticket is final. No ticket with a greater number is served on
//          any of the hosts while this one waits there, so the order is the same everywhere, and no host's
//          clock is asked (Skeen's total order)
//   ← turn whenever what it says is another: who is ahead, who holds what, `fits`
//   → {"type":"take","order":O}
//          to all, once it fits everywhere
//   ← turn `taken`, or once more `waits` where something came in between: then all are told `line` with the
//          number again, which gives back what was taken
// Orders are numbered, greater each time. Each is answered by a turn, and every turn bears the last one that
// was obeyed. Nothing is held while something else is waited for, so no two jobs wait for each other. A
// JobStart may come when all nodes have taken. What was taken is the job's until its part is gone, whatever
// ends it.
//
// Any free nodes. A job that may have any N of its nodes opens on all of them with GpuAsk::look: each says
// how it stands there, again whenever that is another, and takes nothing. The client chooses
// (shared/gpu/place.hpp):
//   → {"type":"take","order":O}   to N that fit. A part without a ticket takes what nobody in line would have
//   → {"type":"look","order":O}   where another one refuses: gives back what was taken and leaves the line
//   → {"type":"line", …}          where no N fit, to the N that will first; from then on as above. While it
//                                 waits there, it takes any N that fit at once, with a ticket or without
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

inline constexpr int all_units = -1;
inline constexpr int max_priority = 1'000'000; // and its negative

struct GpuUnit {
    std::string id{};
    int index = 0;      // as the node's nvidia-smi counts, or the slot's
    std::string name{}; // the model; empty for a slot
    bool operator==(const GpuUnit&) const = default;
};

// Somebody who holds units, or waits for them. Times are of the host's own clock.
struct GpuParty {
    std::string cluster{}, node{}, job{};
    std::string owner{};     // USER@MACHINE
    std::int64_t age_s = 0;  // since when
    std::int64_t left_s = 0; // until the time is over that its job has; 0: nobody has said
    bool operator==(const GpuParty&) const = default;
};
// GpuParty::job of what `dockdist ssh --gpus` and `exec --gpus` hold.
inline constexpr const char* session_job = "ssh";
struct GpuHold {
    GpuUnit unit{};
    GpuParty by{};
    // `by` with an empty job: somebody's whose entry is lost.
    bool outside = false; // of dockdist: `by` is empty but for `job`, which says what is known
    bool operator==(const GpuHold&) const = default;
};
// What the opening asks for.
struct GpuAsk {
    bool share = false; // takes none, and sees all that its node has, whoever has them
    // Takes nothing before it is told to, stands in no line, and says how it stands; only new nodes do so,
    // and what they are told in this case says to older ones that it shares.
    bool look = false;
    int count = all_units; // how many units; more than the node has: all of them are meant by all_units alone
    int priority = 0;      // the greater goes ahead in the line
    std::int64_t number = 0;     // above 0: the final number in line that it had before its stream broke
    std::int64_t in_use_mib = 0; // a GPU with more memory used than that, which no job has, is somebody's
    // Units of jobs that no board knows: on this host, in nodes that an older dockdist created. They count as
    // held.
    std::vector<GpuHold> taken{};
    bool operator==(const GpuAsk&) const = default;
};

struct GpuWaiter {
    GpuParty who{};
    int wanted = 0;
    int priority = 0;
    bool operator==(const GpuWaiter&) const = default;
};

inline constexpr std::size_t most_ahead = 16;

// How it stands with a job's units on one node.
struct GpuTurn {
    enum class State {
        none,  // there are none to take: --share, CUDA_VISIBLE_DEVICES=""
        taken, // `units` are the job's until its end
        fits,  // it is the job's turn here, or nobody's: `take` would take them
        waits,
    };
    State state = State::none;
    // JobCommand::order of the last `line` or `take` that was obeyed before this was said; 0: none. What was
    // said before an order tells nothing of its outcome.
    std::int64_t order = 0;
    std::int64_t number = 0;      // of the ticket, proposed or final; 0: it has none
    std::vector<GpuUnit> units{}; // taken
    std::string together{}; // how these are linked: "NVLink", "the same NUMA node"; empty: nothing to say
    int wanted = 0;         // units
    int place = 0;          // in this host's line, from 1
    std::vector<GpuHold> held{};         // what would do, and is somebody's
    std::vector<GpuWaiter> ahead{};      // in line, the first first; most_ahead at most
    std::vector<std::string> left_out{}; // sentences: "GPU 1 has 3 uncorrected memory errors"
    // Of a part that was opened with GpuAsk::look:
    bool looks = false;               // it was understood
    std::vector<std::string> could{}; // ids of the units of which any would do
    std::vector<std::string> free{};  // of these, such as nobody has or is to have before it
    bool operator==(const GpuTurn&) const = default;
};

// A unit with all that is known of it. Where the driver does not tell a figure, it is missing; of a MIG
// instance the figures are its GPU's.
struct GpuFacts {
    GpuUnit unit{};
    std::optional<double> memory_used_mib{}, memory_total_mib{}, utilization_percent{}, temperature_c{},
        power_w{};
    std::string problem{};         // why it is not given out, a sentence; empty: it is sound
    std::optional<GpuHold> hold{}; // its `unit` is this one
    bool operator==(const GpuFacts&) const = default;
};

// What `dockdist-init gpus [--in-use MIB]` prints, as root: one line of JSON. MIB: GpuAsk::in_use_mib;
// without it no use from outside is told. With --watch a line at once, and again when anything has changed,
// figures included, until stdin ends or has been silent for 30 s: a byte now and then keeps it alive. Also in
// a container that is no node: then of all that the board tells, where there is one, whatever GPUs it sees.
struct GpuReport {
    std::string driver{};
    std::vector<GpuFacts> units{}; // in their order
    std::vector<GpuWaiter> line{}; // who waits for any of them, the first first
    std::string topology{}; // of `nvidia-smi topo -m`, for shared/gpu/topology.hpp; in the first line only
    std::string problem{};  // a sentence: why nothing is known of the GPUs, or of who has them
    bool operator==(const GpuReport&) const = default;
};
std::string gpu_report_line(const GpuReport& report); // with '\n'
Result<GpuReport> parse_gpu_report(std::string_view line);

void to_json(nlohmann::json& json, const GpuAsk& ask);
void to_json(nlohmann::json& json, const GpuUnit& unit);
void to_json(nlohmann::json& json, const GpuParty& party);
void to_json(nlohmann::json& json, const GpuHold& hold);
void to_json(nlohmann::json& json, const GpuTurn& turn);
void read_fields(ObjectReader& reader, GpuAsk& ask);
void read_fields(ObjectReader& reader, GpuUnit& unit);
void read_fields(ObjectReader& reader, GpuParty& party);
void read_fields(ObjectReader& reader, GpuTurn& turn);

} // namespace dockdist::wire
