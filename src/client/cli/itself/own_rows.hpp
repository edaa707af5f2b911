// What `dockdist self-check` tells: this build, and what it finds on the machine that it runs on. Nothing in
// it is secret: it is what people put into a bug report.
#pragma once

#include "client/cli/context.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct OwnRow {
    enum class State { pass, warn, fail };
    State state = State::pass;
    std::string check{}; // one word: "ssh", "home"
    std::string text{};  // what was found
    std::string hint{};  // what to do; empty where there is nothing to do
};

// "1f2e3d4c5b6a…", the commit that this was built from; empty: the build was not told.
std::string_view built_from();
std::string_view own_architecture(); // as the kernel names it: "x86_64", "aarch64"

std::vector<OwnRow> build_rows();   // the program, its libraries, the toolkit in it
std::vector<OwnRow> machine_rows(); // kernel, folders, locale, terminal, limits
// Where dockdist looks for things: files, engines, ssh, what the environment says. Contacts no host.
Task<std::vector<OwnRow>> place_rows(const Context& context);

// The same address or list of addresses without what lets anybody in: "http://***@proxy:3128". The user of
// ssh:// stays.
std::string without_secrets(std::string_view addresses);

} // namespace dockdist
