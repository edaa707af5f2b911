// The sentences of a node's script that are the same for every job.
#pragma once

#include <chrono>
#include <string>

namespace dockdist {

// A function `run`, which ends as its command does and hands TERM on to it: for scripts that have something
// to do after it. TERM may come at any moment, before the command has begun too. A trap ends `wait` early;
// what it has waited for is there until it has been waited for.
extern const char* const run_function_sh;

// Starts `$slots` processes by a function `start_rank`, in each of which LOCAL_RANK and RANK are set and
// exported, and ends with the first failure's code: the others get TERM then, and `grace`. `leads`: the good
// end of the first one is the end of all, as the others are servers.
std::string rank_loop(bool leads, std::chrono::seconds grace);

// `text` as a here-document to `file`, a word of a shell. `quoted`: nothing in it is a shell's.
std::string here_document(const std::string& file, const std::string& text, bool quoted);

} // namespace dockdist
