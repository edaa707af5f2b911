// What other programs accept as a name: checks of single words, without a place in a file.
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

bool is_image_reference(std::string_view text); // [HOST[:PORT]/]path[:tag][@digest], or an id
bool is_variable_name(std::string_view text);   // of an environment: [A-Za-z_.-][A-Za-z0-9_.-]*
bool is_shell_name(std::string_view text);      // [A-Za-z_][A-Za-z0-9_]*
bool is_build_secret_id(std::string_view text); // [A-Za-z0-9_][A-Za-z0-9_.-]*
bool is_volume_name(std::string_view text);     // Docker's: [a-zA-Z0-9][a-zA-Z0-9_.-]+
bool is_peer_address(std::string_view text);    // an IP address or a host name

// The nearest plain name (shared/core/text.hpp) to `text`; "cluster" when nothing is left of it.
std::string to_cluster_name(std::string_view text);
// A machine's own name, as far as a node can have it: of an address it is made of its numbers.
std::string to_host_name(std::string text);
// Whether no other text that anybody would take for another name becomes the same: it has letters or digits
// of ASCII, no others, and none is cut off.
bool names_a_cluster(std::string_view text);

// A cluster's name that is its own for one allocation of Slurm: "train-4711".
std::string of_allocation(std::string_view cluster, std::string_view job);

} // namespace dockdist
