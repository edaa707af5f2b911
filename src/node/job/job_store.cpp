#include "node/job/job_store.hpp"

#include "node/job/log/output_log.hpp"
#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/new_file.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {

std::string job_folder(const std::string& job) {
    return paths().jobs + "/" + job;
}

std::string control_socket(const std::string& job) {
    return paths().job_sockets + "/" + job + ":control";
}

std::string rank_door(const std::string& job) {
    return paths().job_sockets + "/" + job + ":rank";
}

std::string member_door(const std::string& job) {
    return paths().job_sockets + "/" + job + ":member";
}

namespace {

constexpr off_t reserved_bytes = 64 << 10; // more than a record and the file system's own for it

std::string reserve_of(const std::string& job) {
    return job_folder(job) + "/reserve";
}

// Blocks of its own, which are free again when it goes.
Status make_reserve(const std::string& job) {
    const Fd file(
        ::open(reserve_of(job).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.open()) {
        return system_error("cannot write " + reserve_of(job), errno);
    }
    const int failed = ::posix_fallocate(file.get(), 0, reserved_bytes);
    return failed == 0 || failed == EOPNOTSUPP || failed == EINVAL
               ? Status(ok)
               : system_error("cannot write " + reserve_of(job), failed);
}

} // namespace

void remove_doors(const std::string& job) {
    for (const auto& door : {control_socket(job), rank_door(job), member_door(job)}) {
        ::unlink(door.c_str());
    }
}

Status check_name(const std::string& job) {
    if (!is_folder(job_folder(job))) {
        return ok;
    }
    return Error{.kind = ErrorKind::conflict,
                 .message = "a job " + job + " was started on this node before",
                 .hint = "`dockdist attach " + job + "` follows it; a new job needs a new name"};
}

Error no_such_job(const std::string& job) {
    return Error{.kind = ErrorKind::not_found,
                 .message = "no job " + job + " on this node",
                 .hint = "`dockdist jobs` lists the cluster's jobs"};
}

Status create_job(const std::string& job) {
    const auto& place = paths();
    const Owner own{::geteuid(), ::getegid()};
    if (auto made = make_folders(place.jobs, 0700, own); !made) {
        return made;
    }
    if (auto made = make_folders(place.job_sockets, 0711, own); !made) {
        return made;
    }
    if (::mkdir(job_folder(job).c_str(), 0700) != 0) {
        const int why = errno;
        if (auto free = check_name(job); !free) {
            return free;
        }
        return system_error("cannot make " + job_folder(job), why);
    }
    if (auto made = make_reserve(job); !made) {
        remove_tree(job_folder(job));
        return made;
    }
    return ok;
}

void sync_begun_summary(const std::string& job) {
    const auto folder = job_folder(job);
    const auto summary = open_regular(folder + "/summary.json");
    if (summary && syncing()(summary->get()) == 0 && sync_folder_at(folder)) {
        (void)sync_folder_at(paths().jobs);
    }
}

namespace {

// errno; 0: it stands there.
int write_summary(const wire::JobSummary& summary) {
    const bool written = replace_whole_file(
        job_folder(summary.job) + "/summary.json", wire::dump(nlohmann::json(summary)),
        {.mode = 0600, .owner = ::geteuid(), .group = ::getegid(), .on_disk = !summary.running});
    return written ? 0 : errno;
}

bool is_full(int error) {
    return error == ENOSPC || error == EDQUOT;
}

} // namespace

// How a job has ended is kept on a full disk, too: by the room held for that, or else by that of its output.
Status save_summary(const wire::JobSummary& summary) {
    int error = write_summary(summary);
    if (!summary.running) {
        (void)::unlink(reserve_of(summary.job).c_str());
        error = is_full(error) ? write_summary(summary) : error;
    }
    if (!summary.running && is_full(error)) {
        for (const auto& segment : log_segments(job_folder(summary.job))) {
            (void)::truncate(segment.path.c_str(), 0); // the supervisor has it open
            (void)::unlink(segment.path.c_str());
            error = write_summary(summary);
            if (!is_full(error)) {
                break;
            }
        }
    }
    return error == 0 ? Status(ok) : system_error("cannot write the record of job " + summary.job, error);
}

Status save_history(const std::string& job, const wire::JobHistory& history) {
    return replace_file(job_folder(job) + "/history.json", wire::job_history_line(history), 0600,
                        {::geteuid(), ::getegid()});
}

Result<wire::JobHistory> load_history(const std::string& job) {
    const auto text = read_file(job_folder(job) + "/history.json");
    if (!text) {
        return Error{.kind = ErrorKind::not_found,
                     .message = "nothing is kept of what job " + job + " has used"};
    }
    return wire::parse_job_history(*text);
}

Result<wire::JobSummary> load_summary(const std::string& job) {
    if (!wire::is_job_id(job)) {
        return Error{.kind = ErrorKind::usage, .message = "that is not a job's name"};
    }
    const auto text = read_file(job_folder(job) + "/summary.json");
    if (!text) {
        return no_such_job(job);
    }
    return wire::parse_job_summary(*text);
}

std::vector<std::string> job_ids() {
    std::vector<std::string> ids;
    for (auto& name : list_folder(paths().jobs)) {
        if (wire::is_job_id(name)) {
            ids.push_back(std::move(name));
        }
    }
    return ids;
}

namespace {

std::int64_t changed_ms(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0
               ? std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1000000
               : 0;
}

// Of NAME and NAME.runN.
bool is_run_of(const std::string& job, const std::string& name) {
    return !name.empty() && job.starts_with(name) &&
           (job.size() == name.size() || job.compare(name.size(), 4, ".run") == 0);
}

} // namespace

std::int64_t last_change_ms(const std::string& job) {
    const auto of_record = changed_ms(job_folder(job) + "/summary.json");
    return of_record > 0 ? of_record : changed_ms(job_folder(job));
}

std::vector<std::string> recent_job_ids(const std::string& named) {
    struct Candidate {
        std::string job{};
        std::int64_t changed_ms = 0;
    };
    std::vector<std::string> chosen;
    std::vector<Candidate> others;
    for (auto& id : job_ids()) {
        struct stat door{};
        if (is_run_of(id, named) || ::stat(control_socket(id).c_str(), &door) == 0) {
            chosen.push_back(std::move(id));
        } else {
            const auto changed = last_change_ms(id);
            others.push_back({std::move(id), changed});
        }
    }
    const auto count = std::min(others.size(), recent_jobs);
    std::ranges::partial_sort(others, others.begin() + static_cast<std::ptrdiff_t>(count), std::greater{},
                              &Candidate::changed_ms);
    for (std::size_t i = 0; i < count; ++i) {
        chosen.push_back(std::move(others[i].job));
    }
    std::ranges::sort(chosen);
    return chosen;
}

std::uint64_t output_of(const std::string& job) {
    std::uint64_t bytes = 0;
    for (const auto& segment : log_segments(job_folder(job))) {
        struct stat status{};
        bytes += ::stat(segment.path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
    return bytes;
}

wire::KeptHistory kept_history() {
    wire::KeptHistory kept{.jobs = job_ids()};
    for (const auto& job : kept.jobs) {
        for (const auto& file : list_folder(job_folder(job))) {
            struct stat status{};
            if (::stat((job_folder(job) + "/" + file).c_str(), &status) == 0) {
                kept.bytes += std::int64_t{status.st_blocks} * 512; // of the disk
            }
        }
    }
    return kept;
}

bool is_running(const std::string& job) {
    const auto connected = connect_unix(control_socket(job), SOCK_STREAM);
    return connected || connected.error().kind == ErrorKind::busy;
}

} // namespace dockdist::node
