#include "client/job/log_files.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::size_t longest_unwritten = 1U << 20U;

Error file_error(const std::string& path, int number) {
    return {ErrorKind::job, printable(path), std::strerror(number), "name another folder with --log-dir"};
}

} // namespace

Result<LogFiles> LogFiles::create(const std::string& folder, const JobId& job) {
    const auto path = std::filesystem::path(folder) / job.str();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && !std::filesystem::create_directory(path, error) && !error) {
        return Error{ErrorKind::conflict, printable(path.string()), "the folder already exists",
                     "remove it, or name another one with --log-dir"};
    }
    if (error) {
        return file_error(path.string(), error.value());
    }
    return LogFiles(path.string());
}

void LogFiles::output(const NodeName& node, int rank, StdStream, std::string_view bytes) {
    auto& unwritten = unwritten_[{node, rank}];
    unwritten += bytes;
    if (unwritten.size() > longest_unwritten) {
        flush();
    }
}

void LogFiles::flush() {
    for (auto& [source, bytes] : unwritten_) {
        if (!bytes.empty()) {
            const auto& [node, rank] = source;
            write(rank < 0 ? node.str() + ".log" : fmt::format("{}.rank-{}.log", node.str(), rank), bytes);
        }
    }
}

// Opened anew each time: a job may have more ranks than a process may have files.
void LogFiles::write(const std::string& name, std::string& bytes) {
    const auto path = folder_ + "/" + name;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    std::string_view left = bytes;
    int why = file < 0 ? errno : 0;
    while (why == 0 && !left.empty()) {
        const auto count = ::write(file, left.data(), left.size());
        if (count >= 0) {
            left.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            why = errno;
        }
    }
    if (file >= 0 && ::close(file) != 0 && why == 0) {
        why = errno;
    }
    if (why != 0 && lost_ == 0) {
        error_ = file_error(path, why);
    }
    lost_ += left.size();
    bytes.clear();
}

void LogFiles::forget() {
    (void)::rmdir(folder_.c_str());
}

Status LogFiles::written() const {
    if (error_.message.empty()) {
        return ok;
    }
    auto error = error_;
    error.message += fmt::format("; {} bytes of the job's output are not in its files", lost_);
    return error;
}

} // namespace dockdist
