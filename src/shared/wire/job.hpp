// How a job runs in a node. The client runs one exec a node, as root:
//
//   dockdist-init job start        stdin: a JobOpening line; answered by a `prepared` frame. Nothing runs and
//                                  nothing but its GPUs (below) is written to disk until the JobStart line
//                                  comes: it starts the job's supervisor and follows its output. An end of
//                                  stdin, or a stop line, before it: the opening is forgotten
//   dockdist-init job follow JSON  a JobQuery (shared/wire/job_query.hpp): follows from a position (after
//                                  a broken stream, or `attach`), or shows a part of the log
//   dockdist-init job stop JSON    a JobQuery's job and grace: ends every process that bears the job's mark;
//                                  `exited` when gone, also on a node where the job has no supervisor
//   dockdist-init job list         one JobSummary line a job (lines, not frames)
//   dockdist-init job history JOB POINTS   a JobHistory line (shared/wire/job_usage.hpp); or nothing
//
// Starting twice. A client whose stream broke before the node said that the job runs cannot know whether its
// JobStart has arrived. It runs `job start` again, with the same `token`, the ports that it was told, and the
// JobStart right behind the opening: where a job with that token is there, the exec follows it from its
// beginning and starts nothing. `conflict`: a job of that name is there and not known to be the same (yet).
//
// GPUs. The opening asks for units of the node; how a job gets them, alone or in line, is in
// shared/wire/gpus.hpp.
//
// The supervisor is not a child of the exec: it lives on when the client goes. Node → client: frames
// (shared/wire/frame.hpp). Control frames carry one JSON object with "type":
//   prepared     LaunchFacts
//   turn         GpuTurn: how it stands with the job's units here; before the start only
//   started      {"pid":N}; 0 where the part has no command of its own
//   rank_failed  {"rank":R,"local_rank":L,"code":C,"signal":S,"tail":"last lines"}, as soon as the first rank
//                of this node fails; again, of one that is behind what was told before
//   rank_done    "rank": the first one here that has ended with 0
//   silent       nothing was written here for JobPolicy::stall_ms; `speaks` takes it back
//   idle         the job's GPUs here ("gpus" of them; 0: it has none here) have done nothing for
//                JobPolicy::idle_ms; `busy` takes it back
//   reported     what the ranks here are doing stands in the log, as `report` has asked; and of "ranks" what
//                their main threads do (shared/wire/stacks.hpp)
//   still        nothing has moved here for JobPolicy::suspect_ms; `goes_on` takes it back
//   examined     "ranks": what they are doing, as `examine` has asked; nothing is in the log. With a
//                NodeLook, and where it was asked for "ras" (shared/wire/ras_report.hpp)
//   ranks_gone   the part is being ended, no rank is left in it, and what has started them waits for
//                `rest`, or until the grace is over: where its ranks are started from another node, and the
//                policy has ranks_first
//   ready        {"address":A}: what JobPolicy::ready asks for is answered; of the part of node rank 0
//   ended        JobResult: the command has ended, or was halted; the part waits for `over` or `begin`
//   detached     the job needs no client any more
//   exited       JobResult: the part is gone, no process with the job's mark is left
//   error        {"kind","message","hint"}: it could not be started
// rank_failed, silent, speaks, idle, busy, reported, still, goes_on, examined, ranks_gone, ready, ended and
// started bear the "attempt" that they speak of, from 0. Client → node, one JSON line each on stdin:
// {"type":"ping"} every few seconds (answered by a 'P' frame), and orders, which may come twice:
//   {"type":"stop","grace_ms":N}              ends every process and the part (a second one of the same
//                                             client, or one without grace: now). With "signal", by that one
//                                             in place of the opening's
//   {"type":"halt","attempt":A,"grace_ms":N}  ends every process of that attempt; the part stays. With
//                                             "takes_over", of a new coordinator, who begins from A: of
//                                             whatever attempt the part is in
//   {"type":"rest","attempt":A}               no part that is being ended has a rank any more: ends what has
//                                             started them; to parts that have said `ranks_gone`
//   {"type":"begin","attempt":A}              runs the command anew, as attempt A; with "start", a JobStart,
//                                             that one from now on: the job's nodes are others than before
//   {"type":"report","attempt":A}             writes into the log what each rank is doing, with the stacks of
//                                             its threads where a tool for it is there
//   {"type":"stacks"}                         (or with "pause_ms") tells whoever asks what each rank is doing
//                                             (shared/wire/stacks.hpp), and nobody else
//   {"type":"examine","attempt":A}            looks at each rank twice, "pause_ms" apart, for `examined`;
//   with
//                                             "asks_ras" also at what NCCL's RAS says of the whole job
//   {"type":"hang","attempt":A,"hang":H}      why the job hangs, to be kept; without a cause: it goes on
//   {"type":"over"}                           the job is over everywhere: ends what is left, and the part
//   {"type":"detach"}
// stop and over may bear "first", the job's first failure, which the part keeps in its result.
//
// Who carries a job. Its parts report, and one decides for all of them by
// shared/job_state/job_state_machine.hpp: the client that runs it or is attached to it; of a detached job,
// the coordinator, which lives in the supervisor of the first part. A member's supervisor dials the
// coordinator by ssh (`dockdist-init job link JOB PART TERM` there) and then takes that stream for its
// client: the same events, the same orders. Pings and their answers say more there, and another part takes
// over when that one is lost (shared/wire/succession.hpp).
//
// The lease. A part that hears no word of any coordinator for lease_ms is stopped, however a stream ends or
// does not; of a detached job with nodes to spare, what runs is ended, and the part waits a while for another
// coordinator. A coordinator that has not heard of a member for lease_ms takes it for lost. A member that
// does not answer is told nothing more, so that its lease is soon over.
//
// Where the policy has `relaunch`, the job goes on without a lost part: its coordinator halts the others,
// makes their starts anew without it (a spare takes its place, or ranks are numbered anew), and begins with
// these when no rank of it can be left (ranks_end_ms, shared/job_state/job_state_machine.hpp). A part that
// comes back after that ends by its own lease, or is told to stop: it never rejoins.
//
// How ranks end. They are told first, by one signal each, and have the grace; what has started them is told
// when they are gone: launchers that are told end their ranks after a time of their own, and tell them again.
// Where one of them has ranks on several nodes it stays until all are gone: MPI's ranks end with it.
//
// Ranks. Every launcher starts `dockdist-init rank`, with no words of its own: it runs the node's
// rank_command, so that no launcher's or shell's quoting touches it. Its output and its true exit status go
// straight to the supervisor of its node, wherever the launcher itself runs: a node that starts nothing has a
// part without a command, which hosts the ranks that come by ssh.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/gpus.hpp"
#include "shared/wire/hang.hpp"
#include "shared/wire/job_usage.hpp"
#include "shared/wire/question.hpp"
#include "shared/wire/stacks.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr const char* job_mark =
    "DOCKDIST_JOB"; // environment variable that every process of a job bears

// The job's own tmpfs folder on each of its nodes, 0700 of the job's user, gone when the job ends; holds
// JobStart::files and what launchers leave behind.
std::string job_scratch(const std::string& job);

// What holds where nothing else is asked for; the flags' texts are made of these.
inline constexpr std::chrono::milliseconds default_lease{
    30000}; // a job lives on so long without a coordinator
inline constexpr std::chrono::milliseconds default_grace{10000};  // between TERM and KILL
inline constexpr std::chrono::milliseconds default_backoff{1000}; // before the first restart

// Of a job's output on one node. Beyond it the oldest is deleted, in segments of a sixteenth.
inline constexpr std::int64_t default_log_limit = std::int64_t{1} << 30;
inline constexpr std::int64_t least_log_limit = std::int64_t{1} << 20;

// What there is to know before a launch can be decided.
// In a value of JobStart::env_defaults: a TCP port of the node that is reserved for the job, as
// LaunchFacts::ports are, and told to nobody else.
inline constexpr std::string_view own_port = "<its own port>";

struct JobOpening {
    std::string job{};
    std::map<std::string, std::string> env{};      // for every process, over all else: --env
    std::map<std::string, std::string> secrets{};  // over env; kept on the tmpfs alone, see JobStart
    std::vector<std::string> unset{};              // variables to drop
    std::string workdir{};                         // empty: the container's own
    std::string user{};                            // empty: root
    std::int64_t lease_ms = default_lease.count(); // above 0
    std::int64_t grace_ms = default_grace.count(); // between the signal and KILL
    int signal = SIGTERM;                       // by which it is told to end, shared/core/ending_signals.hpp
    std::int64_t timeout_ms = 0;                // the node ends its part after this time; 0: never
    std::int64_t log_limit = default_log_limit; // bytes of output that the node keeps, see least_log_limit
    // They run before the job, as its user with its environment, in its folder, for at most 30 s each.
    std::vector<Question> questions{};
    int ports = 0;                 // how many to reserve
    std::vector<int> same_ports{}; // in place of `ports`: those that a `prepared` told before
    // Of this one start of the job, see "Starting twice" above. Empty: it is not said again.
    std::string token{};
    std::string owner{}; // who runs it: USER@MACHINE
    GpuAsk gpus{.share = true};
};

// code is the shell's: 127 where the program is not there; -1: it took too long. output: the first 4 KiB of
// stdout and stderr together.
struct Answer {
    std::string name{};
    int code = 0;
    std::string output{};
};

// ports: TCP, 20000 to 29999, free on every address of the node when asked. Until the job's end they stay
// bound, without listening and with SO_REUSEADDR, so that no other job is given one, in whichever container
// of the host, and the job's own listener can have them (all that set SO_REUSEADDR, which torch, gRPC and
// Python's servers do).
struct LaunchFacts {
    std::vector<int> ports{};
    std::vector<Answer> answers{}; // in the order of the questions
    GpuTurn gpus{};
};

// What whoever carries the job has to know of it.
struct PartPolicy {
    std::string node{};
    bool hosts_remote_ranks = false; // it runs until the others have ended; its own end says nothing
    int ranks = 0;                   // that must have begun there through `dockdist-init rank`
    bool lost = false;               // the job goes on without it
};
struct JobPolicy {
    std::vector<PartPolicy> parts{}; // as the job was opened; the first that is not lost is the coordinator's
    int max_restarts = 0;            // how often the whole job is begun anew after a failure
    std::int64_t backoff_ms =
        default_backoff.count();                   // before the first restart; doubles with each, up to 30 s
    std::int64_t grace_ms = default_grace.count(); // between TERM and KILL
    std::int64_t stall_ms = 0;   // all parts silent for so long: the job has stalled; 0: not watched
    bool stop_stalled = false;   // that is a failure then; else it is only reported
    std::int64_t suspect_ms = 0; // nothing moves anywhere for so long: it is asked why; 0: never
    bool stop_hung = false;      // where the cause is sure that is a failure, and its node is passed over
    std::int64_t idle_ms = 0; // no GPU of the job has done anything for so long: it is idle; 0: not watched
    bool stop_idle = false;   // that is a failure then; else it is only told
    bool ranks_first = false; // who carries the job knows `ranks_gone` and `rest`
    std::string
        ready{}; // what has to answer on the first of its nodes, shared/wire/ready_probe.hpp; empty: nothing
    // Of a job that goes on without a lost node. shared/launch/relaunch.hpp reads `relaunch`; empty: it does
    // not.
    std::vector<int>
        members{};     // the parts that run it, by node rank; the others are lost or spare. Empty: all
    int min_nodes = 0; // a smaller members is not begun with
    std::string relaunch{};
};
std::size_t coordinator_part(const JobPolicy& policy);
std::size_t first_part(const JobPolicy& policy); // that of node rank 0
std::vector<std::string> lost_nodes(const JobPolicy& policy);
// Where the launcher is `plain` each node's command is a rank itself, though its frames and failures bear -1:
// which, by node. Empty for every other launcher.
std::map<std::string, int> command_ranks(const JobPolicy& policy);

// As the client has measured it that starts the job.
struct BeforeStart {
    std::optional<std::int64_t> waited_ms{}; // that it stood in line for its GPUs; nothing: not told
    std::int64_t held_ms = 0;                // that these were its own already
    bool operator==(const BeforeStart&) const = default;
};

struct JobStart {
    JobPolicy policy{};
    int part = 0; // which of policy.parts this one is
    // After its command has ended the part waits for orders; else it exits by itself. For jobs of more than
    // one part, or with restarts.
    bool stays = false;
    std::vector<std::string> argv{};          // run without a shell; argv[0] is looked up in the job's PATH.
                                              // Empty: no command, the part lives until it is stopped
    std::map<std::string, std::string> env{}; // over the container's, under JobOpening::env
    // For the ranks, or the command where it starts none by itself: each where nothing else gives it, or its
    // other spelling (shared/launch/diagnosis_env.hpp), a value. For own_port stands a port of the node.
    std::map<std::string, std::string> env_defaults{};
    std::map<std::string, std::string> files{}; // path → content, written before the start, mode 0600, owner
                                                // the user; each below job_scratch(), or the start fails
    std::vector<std::string> rank_command{};    // what `dockdist-init rank` runs here, in the job's workdir
    // By local rank, over the rest of what a rank sees but JobOpening::env; ranks beyond its end have none.
    std::vector<std::map<std::string, std::string>> rank_env{};
    int local_rank_at = -1; // ≥ 0: `--local_rank=N` is put before this word of rank_command
    std::string local_rank_option = "--local_rank"; // as that launcher spells it
    // The command gets no secrets, the ranks do: a launcher that starts from one node writes what is in its
    // environment into command lines and files.
    bool rank_secrets = false;
    // Once the command has ended with 0, what it leaves are servers, which know no end: that they are ended
    // then is no failure of theirs.
    bool leaves_servers = false;
    BeforeStart before{}; // for the node's record
};

// A failure and where it was. code is what a shell would report: the exit status, or 128 + signal.
struct JobFailure {
    std::string node{}; // empty in what a node says of its own part
    int rank = -1;      // -1: the launcher or plain command itself (its output frames bear -1 too)
    int local_rank = -1;
    int code = 0;
    int signal = 0;
    bool oom = false;
    std::string tail{}; // its last lines of stderr and stdout
    // What its node has found out about it, and what is to be done, in words (shared/job_state/job_text.hpp).
    std::string cause{}, advice{};
    // What whoever carries the job has found, where no process has failed: "node-1 was lost". Said in place
    // of rank and code.
    std::string finding{};
};

struct JobResult {
    int code = 0;                    // of the command
    int ranks = 0;                   // that have begun on this node through `dockdist-init rank`
    std::vector<int> rank_numbers{}; // theirs, each once, in order; not of those that have none
    int signal = 0;
    bool stopped = false;                // ended because it was told to
    std::string reason{};                // "stop", "lease", "timeout", "lost", "shutdown" (of its container);
                                         // "" when it ended by itself
    std::vector<JobFailure> failures{};  // in the order in which the ranks ended
    int attempt = 0;                     // the last one, from 0
    std::optional<JobFailure> first{};   // the job's, as its coordinator holds it; empty: it told of none
    std::vector<std::string> left_out{}; // nodes that the job has lost, and gone on without
    JobUsage usage{};                    // of this node, over all attempts
};

struct JobSummary {
    std::string job{};
    bool running = false;
    std::int64_t started_ms = 0;     // since 1970, by the node's clock
    std::int64_t duration_ms = 0;    // to its end, or so far; 0: not known, its supervisor was killed
    std::vector<std::string> argv{}; // what people ran: the rank_command where there is one
    JobResult result{};              // when it has ended
    JobPolicy policy{};
    bool detached = false;
    std::int64_t lease_ms = 0;
    std::string token{};          // JobOpening::token
    std::string owner{};          // JobOpening::owner
    std::vector<GpuUnit> units{}; // that are its own there
    std::string ready{};          // the address at which this attempt's service has answered; empty: not yet
    std::optional<Hang> hang{};   // why it stands still, or has stood
    BeforeStart before{};         // JobStart::before
};

// What may stand in paths and in the environment as a job's name: [A-Za-z0-9_.-], 1 to 64, not a '.' first.
bool is_job_id(std::string_view text);

void to_json(nlohmann::json& json, const JobOpening& opening);
void to_json(nlohmann::json& json, const JobPolicy& policy);
void to_json(nlohmann::json& json, const JobStart& start);
void to_json(nlohmann::json& json, const LaunchFacts& facts);
void to_json(nlohmann::json& json, const JobFailure& failure);
void to_json(nlohmann::json& json, const JobResult& result);
void to_json(nlohmann::json& json, const JobSummary& summary);
Result<JobOpening> parse_job_opening(std::string_view line);
Result<JobStart> parse_job_start(std::string_view line);
Result<JobSummary> parse_job_summary(std::string_view line);
Result<JobResult> parse_job_result(std::string_view text);

// What is known of a node beside its ranks, at a look at them.
struct NodeLook {
    std::vector<std::string> addresses{};  // of its interfaces
    std::vector<std::string> gpu_faults{}; // a sentence each, of the job's GPUs
    // Addresses to which TCP sends again and again, and gets no answer.
    std::vector<std::string> unanswered{};
    bool operator==(const NodeLook&) const = default;
};

// A control frame's payload.
struct JobEvent {
    enum class Type {
        prepared,
        turn,
        started,
        rank_failed,
        rank_done,
        silent,
        speaks,
        idle,
        busy,
        reported,
        still,
        goes_on,
        examined,
        ranks_gone,
        ready,
        ended,
        detached,
        exited,
        error
    };
    Type type = Type::error;
    int attempt = 0;
    LaunchFacts facts{};
    GpuTurn turn{};
    int pid = 0;
    int gpus = 0;  // idle
    int rank = -1; // rank_done: that has ended with 0
    JobFailure failure{};
    JobResult result{};
    std::string address{};          // ready
    std::vector<RankStack> ranks{}; // reported, examined; their main threads alone
    RasReport ras{};                // reported, examined
    NodeLook node{};                // examined
    Error error{};
};
Result<JobEvent> parse_job_event(std::string_view payload);
std::string job_event(const JobEvent& event);

// A line from the client, or from the coordinator.
struct JobCommand {
    enum class Type {
        ping,
        line,
        take,
        look,
        stop,
        halt,
        rest,
        begin,
        report,
        stacks,
        examine,
        hang,
        over,
        detach
    };
    Type type = Type::ping;
    std::int64_t grace_ms = 0;         // stop, halt
    int signal = 0;                    // stop; 0: as the opening says
    int attempt = 0;                   // halt, rest, begin, report, examine, hang
    bool takes_over = false;           // halt: whatever attempt the part is in, it is that one from now on
    std::optional<JobFailure> first{}; // stop, over: JobResult::first
    std::optional<JobStart> start{};   // begin: what runs from now on
    std::optional<Hang> hang{};        // hang
    std::int64_t pause_ms = 0;         // examine, stacks: between two looks; 0: half a second
    bool asks_ras = false;             // examine
    std::int64_t number = 0;           // line: the ticket's final one; 0: the node proposes it
    std::int64_t order = 0;            // line, take, look: GpuTurn::order of what is said after it
};
Result<JobCommand> parse_job_command(std::string_view line);
std::string job_command_line(const JobCommand& command);

} // namespace dockdist::wire
