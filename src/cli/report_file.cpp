#include "cli/report_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace dockdist {
namespace {

Error report_error(const std::string& path) {
    return Error{ErrorKind::usage, path, std::string("the report cannot be written: ") + std::strerror(errno),
                 "give --report a file in a folder that you may write to"};
}

} // namespace

Status try_report_file(const std::string& path) {
    std::error_code ignored;
    const bool was_there = std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
    const std::ofstream file(path, std::ios::app);
    if (!file) {
        return report_error(path);
    }
    if (!was_there) { // there may never be a report
        std::filesystem::remove(path, ignored);
    }
    return ok;
}

Status write_report_file(const std::string& path, const std::string& page) {
    std::ofstream file(path, std::ios::trunc);
    file << page;
    file.close();
    if (!file) {
        return report_error(path);
    }
    return ok;
}

std::string report_time() {
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::chrono::system_clock::now()));
}

} // namespace dockdist
