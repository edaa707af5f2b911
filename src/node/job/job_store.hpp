// A job's folder: what is known of it on disk, readable after the supervisor, the client and the stream are
// gone.
//
//   <jobs>/<id>/log.<position>  output frames (shared/wire/frame.hpp), see output_log.hpp
//   <jobs>/<id>/history.json    wire::JobHistory, written now and then, through a rename: what it has used
//   <jobs>/<id>/summary.json    wire::JobSummary, written at the start and again, through a rename, when the
//                               job has ended
//   <jobs>/<id>/reserve         room on the disk, which that last one takes where there is no other
//   <jobs>/<id>/pruned          why output is gone, where that was not by the job's own limit
//   <jobs>/<id>/shrink          the disk is nearly full, see pruning.hpp
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/history.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::node {

std::string job_folder(const std::string& job);
// Beside the jobs' scratch folders; no job's name has a ':'.
std::string control_socket(const std::string& job); // followers and stop; root only
// Of FIFOs (node/system/fifo_door.hpp), for root and container.user:
std::string rank_door(const std::string& job);   // rank shims
std::string member_door(const std::string& job); // the links of a detached job's members
// Nobody finds a supervisor from here on: a follower that comes now reads the summary.
void remove_doors(const std::string& job);

// Conflict when there was a job of that name.
Status check_name(const std::string& job);
Error no_such_job(const std::string& job);
// Makes the folder; conflict as above.
Status create_job(const std::string& job);
// Of a job that has ended it is on the disk when this returns; of one that runs, when the kernel likes.
Status save_summary(const wire::JobSummary& summary);
// Brings the first one to the disk, with the job's name. Its command need not wait for that.
void sync_begun_summary(const std::string& job);
Status save_history(const std::string& job, const wire::JobHistory& history);
// not_found where none was kept.
Result<wire::JobHistory> load_history(const std::string& job);
// not_found where the job has none (yet); protocol error where that which is there is damaged.
Result<wire::JobSummary> load_summary(const std::string& job);
std::vector<std::string> job_ids();
// Those that run, and of the others the latest so many; beside them those of the name `named` (not empty),
// NAME and NAME.runN. Sorted.
inline constexpr std::size_t recent_jobs = 50;
std::vector<std::string> recent_job_ids(const std::string& named = "");
// Whether its supervisor lives.
bool is_running(const std::string& job);
std::uint64_t output_of(const std::string& job);     // bytes of its log that are there
std::int64_t last_change_ms(const std::string& job); // of its record, since 1970; else of its folder
wire::KeptHistory kept_history();                    // all of the store

} // namespace dockdist::node
