#include "node/job/job_store.hpp"

#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/new_file.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
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
    return ok;
}

void sync_begun_summary(const std::string& job) {
    const auto folder = job_folder(job);
    const auto summary = open_regular(folder + "/summary.json");
    if (summary && syncing()(summary->get()) == 0 && sync_folder_at(folder)) {
        (void)sync_folder_at(paths().jobs);
    }
}

Status save_summary(const wire::JobSummary& summary) {
    return replace_file(job_folder(summary.job) + "/summary.json", wire::dump(nlohmann::json(summary)), 0600,
                        {::geteuid(), ::getegid()}, summary.running ? OnDisk::some_day : OnDisk::at_once);
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

void prune_jobs(std::int64_t now_ms) {
    std::vector<wire::JobSummary> ended;
    for (const auto& id : job_ids()) {
        if (auto summary = load_summary(id); summary && (!summary->running || !is_running(id))) {
            ended.push_back(std::move(*summary));
        }
    }
    std::ranges::sort(ended, std::greater{}, &wire::JobSummary::started_ms);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        const auto end = ended[i].started_ms + ended[i].duration_ms;
        if (i >= most_ended_jobs || now_ms - end > ended_jobs_stay_ms) {
            remove_tree(job_folder(ended[i].job));
        }
    }
}

bool is_running(const std::string& job) {
    const auto connected = connect_unix(control_socket(job), SOCK_STREAM);
    return connected || connected.error().kind == ErrorKind::busy;
}

} // namespace dockdist::node
