#include "client/cli/report_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace dockdist {

std::string report_time() {
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::chrono::system_clock::now()));
}

} // namespace dockdist
