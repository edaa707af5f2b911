// Which nodes a job gets that may have any of several. Pure; what a node says may be old: its board
// (shared/gpu/board.hpp) has the last word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// A node as a job finds it.
struct Site {
    bool there = true;                // else it is none of those that may be chosen
    bool fits = false;                // all that the job wants of it is free, and nobody is to have it before
    int wanted = 0;                   // units
    std::vector<std::string> could{}; // units of which any would do; nodes of one host may see the same
    std::vector<std::string> free{};  // of these, what nobody has or is to have before
    int ahead = 0;                    // who waits there before it
    std::optional<std::int64_t> left_s{}; // until all that is in the way is over, where that is known
    std::vector<std::size_t> domains{};   // racks and the like that it is in
};

// So many of these, by index. A job has one of these or more, and no node twice.
struct Seats {
    std::size_t count = 0;
    std::vector<std::size_t> among{};
    bool is_choice() const { return among.size() > count; }
    bool operator==(const Seats&) const = default;
};

// Of nodes, or a job's parts on them.
struct Choice {
    std::vector<Seats> seats{};                      // none: all of them
    std::vector<std::vector<std::size_t>> domains{}; // of each: Site::domains
};

// Where the job can begin now, in the order of the seats; nothing where it cannot. For each seats: in one
// domain, else in as few as there can be; then best fit, so that whole nodes stay whole: those of which the
// job leaves least, such as nobody has anything of last; then the order in which the nodes stand.
std::optional<std::vector<std::size_t>> place(const std::vector<Site>& sites,
                                              const std::vector<Seats>& seats);
// Where it waits: where fewest are ahead of it, then where it is known when the last job will be over, the
// soonest first, then where least is missing. Nothing where there are too few.
std::optional<std::vector<std::size_t>> place_to_wait(const std::vector<Site>& sites,
                                                      const std::vector<Seats>& seats);

} // namespace dockdist
