#include "node/job/job_frames.hpp"

#include "node/job/job_store.hpp"
#include "node/session/job_part.hpp"
#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/wire/frame.hpp"

#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t lost_grace_ms = 2000;

std::string event_frame(const wire::JobEvent& event) {
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::job_event(event)});
}

} // namespace

std::string error_frame(const Error& error) {
    wire::JobEvent event{.type = wire::JobEvent::Type::error};
    event.error = error;
    return event_frame(event);
}

void print_error(const Error& error) {
    (void)write_all(STDOUT_FILENO, error_frame(error));
}

void print_event(const wire::JobEvent& event) {
    (void)write_all(STDOUT_FILENO, event_frame(event));
}

wire::JobResult lost_result(const std::string& why) {
    wire::JobResult result{.code = exit_codes::by_signal(SIGKILL), .signal = SIGKILL, .reason = "lost"};
    result.failures.push_back({.code = result.code,
                               .signal = result.signal,
                               .tail = why.empty() ? "the job's supervisor was killed" : "",
                               .cause = why});
    return result;
}

wire::JobSummary damaged_summary(const std::string& job, const Error& why) {
    wire::JobSummary summary{.job = job, .running = is_running(job), .result = lost_result()};
    struct stat folder{};
    if (::stat(job_folder(job).c_str(), &folder) == 0) {
        summary.started_ms = std::int64_t{folder.st_mtim.tv_sec} * 1000;
    }
    summary.result.failures.front().finding =
        "how it went is not known, as its record on this node is damaged (" + why.message +
        "): this host lost its power while the record was written, or somebody has changed it";
    return summary;
}

void record_lost(const std::string& job, const std::string& why) {
    if (auto summary = load_summary(job); summary && summary->running) {
        summary->running = false;
        auto result = lost_result(why);
        result.usage = summary->result.usage; // until shortly before
        summary->result = std::move(result);
        (void)save_summary(*summary);
    }
}

wire::JobResult result_without_supervisor(const std::string& job) {
    auto summary = load_summary(job);
    if (summary && !summary->running) {
        return summary->result;
    }
    (void)end_processes({.mark = job}, lost_grace_ms);
    remove_scratch(job);
    record_lost(job);
    summary = load_summary(job); // somebody else may have known more
    if (!summary && summary.error().kind == ErrorKind::protocol) {
        return damaged_summary(job, summary.error()).result;
    }
    return summary && !summary->running ? summary->result : lost_result();
}

} // namespace dockdist::node
