// How many descriptors this process may have open. What a login begins with is for programs that count in
// sets of 1024.
#pragma once

namespace dockdist {

// As many as the system lets it have.
void take_all_descriptors();

// As many as it began with: in a child, before it becomes another program.
void give_back_descriptors();

} // namespace dockdist
