// How a job runs in a node. The client runs one exec a node, as root:
//
//   dockdist-init job start            stdin: a JobRequest line; starts the job's supervisor and follows its
//   output dockdist-init job follow JSON      {"job":ID,"position":N}: follows from there (after a broken
//   stream, or `attach`) dockdist-init job stop JSON        {"job":ID,"grace_ms":N}: ends every process that
//   bears the job's mark; `exited` when gone,
//                                      also on a node where the job has no supervisor (ranks that came by
//                                      ssh)
//   dockdist-init job list             one JobSummary line a job (lines, not frames)
//
// The supervisor is not a child of the exec: it lives on when the client goes. Node → client: frames
// (wire/frame.hpp). Control frames carry one JSON object with "type":
//   started   {"pid":N}
//   rank_failed {"rank":R,"local_rank":L,"code":C,"signal":S,"tail":"last lines"}   as soon as the first rank
//   of this node fails exited    JobResult: the command has ended and no process with the job's mark is left
//   error     {"kind","message","hint"}: it could not be started
// Client → node, one JSON line each on stdin: {"type":"ping"} every few seconds (answered by a 'P' frame),
//   {"type":"stop","grace_ms":N} (a second one: now), {"type":"detach"}.
// A follower whose stdin ends, or that hears no ping for lease_ms, starts the lease: unless another follower
// comes within lease_ms, the job is stopped. Detached jobs have no lease.
#pragma once

#include "core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr const char* job_mark =
    "DOCKDIST_JOB"; // environment variable that every process of a job bears

struct JobRequest {
    std::string job{};
    std::vector<std::string> argv{};          // run without a shell; argv[0] is looked up in the job's PATH
    std::map<std::string, std::string> env{}; // on top of the container's environment
    std::vector<std::string> unset{};         // variables to drop
    std::string workdir{};                    // empty: the container's own
    std::string user{};                       // empty: root
    std::map<std::string, std::string>
        files{};                   // path → content, written before the start, mode 0600, owner the user
    int ranks = 0;                 // how many ranks this node starts; 0: the command itself is the one rank
    int first_rank = 0;            // global rank of local rank 0
    std::int64_t lease_ms = 30000; // 0: detached
    std::int64_t grace_ms = 10000; // between TERM and KILL
};

// code is what a shell would report: the exit status, or 128 + signal.
struct RankFailure {
    int rank = -1; // -1: the launcher or plain command itself (its output frames bear -1 too)
    int local_rank = -1;
    int code = 0;
    int signal = 0;
    bool oom = false;
    std::string tail{}; // its last lines of stderr and stdout
};

struct JobResult {
    int code = 0; // of the command
    int signal = 0;
    bool stopped = false;                // ended because it was told to
    std::string reason{};                // "stop", "lease", "" when it ended by itself
    std::vector<RankFailure> failures{}; // in the order in which the ranks ended
};

struct JobSummary {
    std::string job{};
    bool running = false;
    std::int64_t started_ms = 0;
    std::vector<std::string> argv{};
    JobResult result{}; // when it has ended
};

// What may stand in paths and in the environment as a job's name: [A-Za-z0-9_.-], 1 to 64, not a '.' first.
bool is_job_id(std::string_view text);

void to_json(nlohmann::json& json, const JobRequest& request);
void to_json(nlohmann::json& json, const RankFailure& failure);
void to_json(nlohmann::json& json, const JobResult& result);
void to_json(nlohmann::json& json, const JobSummary& summary);
Result<JobRequest> parse_job_request(std::string_view line);
Result<JobSummary> parse_job_summary(std::string_view line);
Result<JobResult> parse_job_result(std::string_view text);

// A control frame's payload.
struct JobEvent {
    enum class Type { started, rank_failed, exited, error };
    Type type = Type::error;
    int pid = 0;
    RankFailure failure{};
    JobResult result{};
    Error error{};
};
Result<JobEvent> parse_job_event(std::string_view payload);
std::string job_event(const JobEvent& event);

// A line from the client.
struct JobCommand {
    enum class Type { ping, stop, detach };
    Type type = Type::ping;
    std::int64_t grace_ms = 0;
};
Result<JobCommand> parse_job_command(std::string_view line);
std::string job_command_line(const JobCommand& command);

} // namespace dockdist::wire
