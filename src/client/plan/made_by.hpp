// Which dockdist has made a node, as its container's labels say it, and what that means for this one.
#pragma once

#include "client/container/types.hpp"

#include <string>

namespace dockdist {

struct MadeBy {
    std::string release{}; // "0.2.0"; "0.1" where no label says it
    int wire = 0;          // wire::version; 0: the label is none that dockdist writes
};
MadeBy made_by(const Labels& labels);

// What a node can be asked for by this client.
enum class Understanding {
    all,     // it speaks the same version
    of_jobs, // one next to it: what runs there, its output and its end
    nothing,
};
Understanding understanding_of(const MadeBy& node);

// "it is of dockdist 0.1.0 and speaks version 2 of the protocol, this dockdist version 3"
std::string other_words(const MadeBy& node);
// What to do then.
std::string bring_to_this_version(const MadeBy& node);

// Why a node with another toolkit is made anew by `release`: "dockdist 0.1.0 made it, this
// is 0.2.0".
std::string made_by_another(const MadeBy& node, const std::string& release);

} // namespace dockdist
