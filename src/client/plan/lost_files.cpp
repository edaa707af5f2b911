#include "client/plan/lost_files.hpp"

#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_set>

namespace dockdist {
namespace {

constexpr std::size_t most_named = 3;

// Of dockdist, of the engine, and what is for a while by its name; with what is in them.
constexpr std::array<std::string_view, 13> not_of_the_user{
    "/dev",      "/etc/group",  "/etc/hosts",       "/etc/hostname", "/etc/ld.so.cache",
    "/etc/mtab", "/etc/passwd", "/etc/resolv.conf", "/job",          "/opt/dockdist",
    "/run",      "/tmp",        "/var/lib/dockdist"};

bool is_in(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// A home that was made for an account, and nothing is in it.
bool is_home(std::string_view path) {
    return path == "/root" || path == "/home" ||
           (path.starts_with("/home/") && path.find('/', std::string_view("/home/").size()) == path.npos);
}

// What NVIDIA's hook mounts leaves an empty file each where it is mounted.
bool is_of_the_driver(std::string_view path) {
    const auto name = path.substr(path.rfind('/') + 1);
    return (is_in(path, "/usr") || is_in(path, "/lib") || is_in(path, "/etc") || is_in(path, "/lib64") ||
            is_in(path, "/bin")) &&
           (path.find("nvidia") != path.npos || name.starts_with("libcuda") || name.starts_with("libnv"));
}

bool is_of_the_user(const std::string& path) {
    return path.find("/__pycache__") == std::string::npos && !is_home(path) && !is_of_the_driver(path) &&
           std::ranges::none_of(not_of_the_user, [&](auto folder) { return is_in(path, folder); });
}

std::string jobs_text(std::size_t jobs) {
    return fmt::format("the output and records of {}, which its older dockdist has kept in the container, {} "
                       "with it: `dockdist logs JOB --log-dir FOLDER` keeps a copy",
                       counted(jobs, "job"), jobs == 1 ? "goes" : "go");
}

} // namespace

std::vector<std::string> jobs_in(const ContainerDiff& diff) {
    const auto folder = std::string(jobs_before_stores) + "/";
    std::set<std::string> jobs;
    for (const std::string_view path : diff.paths) {
        if (path.starts_with(folder) && path.size() > folder.size()) {
            const auto name = path.substr(folder.size());
            jobs.emplace(name.substr(0, name.find('/')));
        }
    }
    std::erase_if(jobs, [](const std::string& job) { return !wire::is_job_id(job); });
    return {jobs.begin(), jobs.end()};
}

LostFiles lost_files(const ContainerDiff& diff, const ComesAgain& comes_again) {
    std::unordered_set<std::string_view> folders(diff.places.begin(), diff.places.end());
    for (const auto& path : diff.paths) {
        const std::string_view whole = path;
        for (auto end = whole.rfind('/'); end != 0 && end != std::string_view::npos;
             end = whole.rfind('/', end - 1)) {
            folders.insert(whole.substr(0, end));
        }
    }
    LostFiles lost;
    lost.jobs = jobs_in(diff).size();
    std::uint64_t again = 0;
    for (const auto& path : diff.paths) {
        if (folders.contains(path) || !is_of_the_user(path)) {
            continue;
        }
        if (const auto size = comes_again ? comes_again(path) : std::nullopt) {
            again += *size;
            continue;
        }
        ++lost.files;
        if (lost.some.size() < most_named) {
            lost.some.push_back(path);
        }
    }
    if (lost.files > 0) {
        lost.bytes = Bytes{diff.written.count - std::min(diff.written.count, again)};
    }
    return lost;
}

std::string to_text(const LostFiles& lost) {
    if (!lost.unknown.empty()) {
        return "files that are on no mount go with it; the engine does not say which: " +
               printable(lost.unknown);
    }
    const auto files = fmt::format("{} on no mount {} with it, up to {}: {}{}", counted(lost.files, "file"),
                                   lost.files == 1 ? "is lost" : "are lost", format_size(lost.bytes),
                                   printable(fmt::format("{}", fmt::join(lost.some, ", "))),
                                   lost.files > lost.some.size() ? ", …" : "");
    return lost.jobs == 0    ? files
           : lost.files == 0 ? jobs_text(lost.jobs)
                             : files + "; " + jobs_text(lost.jobs);
}

} // namespace dockdist
