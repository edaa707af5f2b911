// What a relay's own image holds, which the client makes and a relay gives on: the program, and the folder
// that an image's relay fills, in this order.
#pragma once

namespace dockdist::wire {

inline constexpr int relay_account = 65534; // nobody: user and group
inline constexpr const char* relay_program = "/dockdist-relay";
inline constexpr unsigned relay_program_mode = 0755;
inline constexpr const char* relay_folder = "/blobs"; // the account's, in the image: so the volume there is
inline constexpr unsigned relay_folder_mode = 0700;

} // namespace dockdist::wire
