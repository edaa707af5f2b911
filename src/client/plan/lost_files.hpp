// What goes with a container that `up` replaces or removes: files that lie on no mount, and what a node of a
// dockdist before 0.2 has kept of its jobs, which it kept there. Pure.
#pragma once

#include "client/container/types.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct LostFiles {
    std::size_t files = 0;
    Bytes bytes{};                   // at most: the engine counts what it has written of all files together
    std::vector<std::string> some{}; // the first few of them
    std::size_t jobs = 0;            // whose output and records go with it, where no node takes them over
    std::string unknown{};           // why the engine does not tell; the rest is empty then

    bool any() const { return files > 0 || jobs > 0 || !unknown.empty(); }
};

// The size of a file that comes again by itself, `sync` sends it; nothing: it does not.
using ComesAgain = std::function<std::optional<std::uint64_t>(const std::string& path)>;

// Where dockdists before 0.2 kept a node's jobs; today they are in a volume, layout::jobs.
inline constexpr std::string_view jobs_before_stores = "/var/lib/dockdist/jobs";
std::vector<std::string> jobs_in(const ContainerDiff& diff); // sorted

// Without dockdist's own files, those of /tmp, and Python's caches of byte code. The engine tells a folder
// from a file by what is in it alone, so an empty one counts.
LostFiles lost_files(const ContainerDiff& diff, const ComesAgain& comes_again);

// "3 files on no mount go with it, up to 1.2 GiB: /workspace/out/ckpt.pt, …"
std::string to_text(const LostFiles& lost);

} // namespace dockdist
