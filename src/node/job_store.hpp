// A job's folder: what is known of it on disk, readable after the supervisor, the client and the stream are
// gone.
//
//   <jobs>/<id>/log           output frames (wire/frame.hpp), appended only
//   <jobs>/<id>/summary.json  wire::JobSummary, written at the start and again, through a rename, when the
//   job has ended
#pragma once

#include "core/result.hpp"
#include "node/os.hpp"
#include "wire/job.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

std::string job_folder(const std::string& job);
std::string job_log(const std::string& job);
// Beside the jobs' scratch folders; no job's name has a ':'.
std::string control_socket(const std::string& job); // followers and stop; root only
std::string rank_socket(const std::string& job);    // rank shims; root and container.user
std::string member_socket(const std::string& job);  // the links of a detached job's members; the same

// Makes the folder; conflict when there was a job of that name.
Status create_job(const wire::JobSummary& summary);
Status save_summary(const wire::JobSummary& summary);
Result<wire::JobSummary> load_summary(const std::string& job);
std::vector<std::string> job_ids();
// Whether its supervisor lives.
bool is_running(const std::string& job);

} // namespace dockdist::node
