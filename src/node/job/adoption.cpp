#include "node/job/adoption.hpp"

#include "node/job/job_store.hpp"
#include "node/job/log/output_log.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t most_asked = std::size_t{16} << 20U;

// Of a job's folder, and nothing but files of it: what else is there was not written by a dockdist.
bool is_of_a_job(std::string_view file) {
    return file == "summary.json" || file == "history.json" || file == "pruned" || file.starts_with("log.");
}

// 0: there is nothing.
mode_t mode_of(const std::string& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}

std::string read_to_end(int from) {
    std::string text;
    char buffer[16384];
    for (ssize_t count = 1; count > 0 && text.size() < most_asked;) {
        count = ::read(from, buffer, sizeof buffer);
        text.append(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return text;
}

Status adopt(const std::string& job, bool whole) {
    const auto incoming = paths().incoming_jobs + "/" + job;
    const auto folder = job_folder(job);
    if (!S_ISDIR(mode_of(incoming))) {
        return Error{.kind = ErrorKind::not_found, .message = "it did not come"};
    }
    if (is_folder(folder)) {
        return Error{.kind = ErrorKind::conflict, .message = "there is a job of that name since then"};
    }
    for (const auto& file : list_folder(incoming)) {
        const auto path = incoming + "/" + file;
        if ((!is_of_a_job(file) || !S_ISREG(mode_of(path))) && !remove_tree(path)) {
            return Error{.kind = ErrorKind::node, .message = "there is a strange file in it"};
        }
    }
    const auto summary = read_file(incoming + "/summary.json");
    TRY(summary);
    TRY(wire::parse_job_summary(*summary));
    if (!whole) {
        drop_output(incoming, "it was left in the node's old container");
    }
    return ::renameat2(AT_FDCWD, incoming.c_str(), AT_FDCWD, folder.c_str(), RENAME_NOREPLACE) == 0
               ? Status(ok)
               : Status(system_error("cannot rename " + incoming, errno));
}

} // namespace

Status adopt_jobs(int from, int to) {
    const auto lines = split(read_to_end(from), '\n');
    TRY(make_folders(paths().jobs, 0700, {::geteuid(), ::getegid()}));
    for (const auto& line : lines) {
        const auto words = split(line, ' ');
        if (words.size() != 2 || !wire::is_job_id(words[1])) {
            continue;
        }
        if (const auto adopted = adopt(words[1], words[0] == "whole"); !adopted) {
            TRY(write_all(to, words[1] + ": " + adopted.error().message + "\n"));
        }
    }
    remove_tree(paths().incoming_jobs);
    const Fd store(::open(paths().store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return store.open() && ::syncfs(store.get()) == 0
               ? Status(ok)
               : Status(system_error("cannot write the store of jobs to the disk", errno));
}

} // namespace dockdist::node
