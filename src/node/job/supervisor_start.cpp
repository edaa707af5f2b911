#include "node/job/supervisor_start.hpp"

#include "node/job/job_store.hpp"
#include "node/session/job_part.hpp"
#include "node/system/fifo_door.hpp"
#include "node/system/loop.hpp"
#include "node/system/process.hpp"
#include "node/system/unix_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

// All that is made outside this process, in an order that leaves another job of that name alone.
Status make_places(PreparedJob& job, std::int64_t log_limit) {
    const auto& id = job.part.job;
    if (auto created = create_job(id); !created) {
        return created;
    }
    const auto made = job.enter_attempt(0);
    auto log = OutputLog::create(job_folder(id), log_limit);
    auto control = listen_unix(control_socket(id), SOCK_STREAM, 0600, {::geteuid(), ::getegid()});
    const Owner user{job.account.uid, job.account.gid};
    auto ranks = FifoDoor::make(rank_door(id), user);
    auto members = FifoDoor::make(member_door(id), user);
    // Last: who finds a summary takes a job without a door for one whose supervisor was killed.
    const auto saved = made && log && control && ranks && members ? save_summary(job.summary) : ok;
    if (!made || !log || !control || !ranks || !members || !saved) {
        remove_scratch(id);
        remove_tree(job_folder(id));
        return !made      ? made.error()
               : !log     ? log.error()
               : !control ? control.error()
               : !ranks   ? ranks.error()
               : !members ? members.error()
                          : saved.error();
    }
    job.log = std::move(*log);
    job.control = std::move(*control);
    job.ranks = std::move(*ranks);
    job.members = std::move(*members);
    return ok;
}

// A rank has three descriptors here. The command gets the limit that it would have had.
void make_room_for_ranks(PreparedJob& job) {
    constexpr std::uint64_t most = 4096;
    constexpr std::uint64_t of_a_rank = 3;
    constexpr std::uint64_t others = 256;
    job.open_files = open_files();
    set_open_files(std::max(job.open_files, most * of_a_rank + others));
    const auto room = open_files();
    job.most_ranks = room > others ? std::min(most, (room - others) / of_a_rank) : job.most_ranks;
}

// Twice forked, so that PID 1 becomes its parent, and without the exec's streams, which would keep the exec
// open.
Status fork_supervisor(PreparedJob job) {
    const pid_t between = ::fork();
    if (between < 0) {
        return system_error("cannot start the job's supervisor", errno);
    }
    if (between == 0) {
        ::setsid();
        if (const pid_t supervisor = ::fork(); supervisor != 0) {
            ::_exit(supervisor < 0 ? 1 : 0);
        }
        const int null = ::open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            ::dup2(null, stream);
        }
        ::close(null);
        (void)::chdir("/");
        make_room_for_ranks(job);
        Loop loop;
        const auto part = supervise(loop, std::move(job));
        part->begin();
        if (!part->is_gone()) {
            loop.run();
        }
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    if (exit_status(status).code != 0) {
        return Error{.kind = ErrorKind::node,
                     .message = "cannot start the job's supervisor: too many processes"};
    }
    return ok;
}

} // namespace

Status start_supervisor(PreparedJob job, std::int64_t log_limit) {
    const auto id = job.summary.job;
    if (auto made = make_places(job, log_limit); !made) {
        return made;
    }
    auto begun = fork_supervisor(std::move(job));
    if (!begun) {
        remove_scratch(id);
    }
    return begun;
}

} // namespace dockdist::node
