// --report FILE.html: a page that a command writes beside what it prints.
#pragma once

#include "core/result.hpp"

#include <string>

namespace dockdist {

// Before the work, which may take hours: that the file can be written at all. What an older report holds
// stays until then, and where there is none, there is none after. Errors: usage.
Status try_report_file(const std::string& path);
Status write_report_file(const std::string& path, const std::string& page);
std::string report_time(); // now: "2026-11-23 20:00 UTC"

} // namespace dockdist
