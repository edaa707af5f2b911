// Programs that run beside this one and are heard, and as whom each runs.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/program.hpp"
#include "shared/core/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

struct Helper {
    Program program{};
    std::vector<std::string> argv{};
    Environment environment{};
    std::optional<Account> account{}; // whom its process becomes first; none: it is who this process is
    bool apart = false;               // where this process is root, it is neither root nor anybody's
};

// One of dockdist's own, with a clean environment.
Helper toolkit_helper(const std::string& path, std::vector<std::string> argv,
                      std::optional<Account> account = {});

// One of the image's whose word root takes, as nvidia-smi's of who uses a GPU that others share. Root looks
// for it where nobody else can have put it (roots_path), gives it believed_environment() and lets it run
// apart: as a user whom nobody else here is, so that a job cannot hold it up, and that may change nothing;
// but as root where devices of NVIDIA's are root's alone. Who is not root runs what it finds itself. The
// error, not_found, says where it was looked for.
Result<Helper> believed_helper(std::vector<std::string> argv);

// In a child: who it has to be. Ends it where it cannot be.
void take_place_of(const Helper& helper);
// After that, or where nothing has to change: becomes it, or ends with the shell's code.
[[noreturn]] void become_helper(Helper& helper);

// Runs it to its end, at most `limit_ms`; its stdout and stderr together. Not for PID 1.
struct Finished {
    int code = -1; // -1: it was ended because it took too long, or did not start
    std::string output{};
};
Finished run_helper(Helper helper, int limit_ms);

} // namespace dockdist::node
