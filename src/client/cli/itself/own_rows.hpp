// What `dockdist self-check` tells: this build, and what it finds on the machine that it runs on. Rows have
// neither layer nor subject. Nothing in it is secret: it is what people put into a bug report.
#pragma once

#include "client/check/report/report_tables.hpp"
#include "client/cli/context.hpp"

#include <string>
#include <vector>

namespace dockdist {

// "1f2e3d4c5b6a…", the commit that this was built from; empty: the build was not told.
std::string_view built_from();
std::string_view own_architecture(); // as the kernel names it: "x86_64", "aarch64"

std::vector<CheckRow> build_rows();   // the program, its libraries, the toolkit in it
std::vector<CheckRow> machine_rows(); // kernel, folders, locale, terminal, limits
// Where dockdist looks for things: files, engines, ssh, what the environment says. Contacts no host.
Task<std::vector<CheckRow>> place_rows(const Context& context);

// The same address or list of addresses without what lets anybody in: "http://***@proxy:3128". The user of
// ssh:// stays.
std::string without_secrets(std::string_view addresses);

} // namespace dockdist
