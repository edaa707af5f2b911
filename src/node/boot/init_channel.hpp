// How join speaks with PID 1: one JSON object a datagram over a socket that only root can open.
//
//   {"do":"status"}                    → {"ok":true,"ssh_port":N,"sshd":PID,"log":"sshd's last words"}
//   {"do":"reserve","address":A,"port":N}
//   → holds that port for sshd, in place of the one before; conflict when another has it
//   {"do":"sshd"}                      → starts sshd, or starts it anew when its configuration has changed
//   {"do":"ready","line":"…"}          → the line that the container's log shows while sshd runs
//   {"do":"store"}                     → takes the node's store (node/system/store.hpp); busy when another
//                                        container has it
//   {"do":"guard", …} and others       → from jobs, node/system/job_guard.hpp
//   any of them may answer               {"ok":false,"error":{…}}
//
// What PID 1 holds is the port itself (node/system/port_reservation.hpp), for as long as it lives: also where
// sshd has not begun to listen, or begins again. What else says that a port is taken is a lock that root of a
// node can have alone (node/gpus/board_file.hpp), and counts only where nobody can see whether it is.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace dockdist::node {

// Waits for up to five seconds for PID 1 to listen, which may still be preparing the container.
Result<nlohmann::json> ask_init(const nlohmann::json& question);

} // namespace dockdist::node
