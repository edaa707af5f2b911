// --report FILE.html: a page that a command writes beside what it prints.
#pragma once

#include "client/cli/output_file.hpp"

#include <string>

namespace dockdist {

inline OutputFile report_file(const std::string& path) {
    return {path, "--report"};
}
std::string report_time(); // now: "2026-11-23 20:00 UTC"

} // namespace dockdist
