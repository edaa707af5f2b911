// How join speaks with PID 1: one JSON object a datagram over a socket that only root can open.
//
//   {"do":"status"}                    → {"ok":true,"ssh_port":N,"sshd":PID,"log":"sshd's last words"}
//   {"do":"reserve","port":N}          → claims the port between the containers of this host; conflict when
//   another has it
//   {"do":"release"}                   → gives the claimed port back
//   {"do":"sshd"}                      → starts sshd, or starts it anew when its configuration has changed
//   {"do":"ready","line":"…"}          → the line that the container's log shows while sshd runs
//   {"do":"guard", …} and others       → from jobs, node/system/job_guard.hpp
//   any of them may answer               {"ok":false,"error":{…}}
//
// PID 1 holds the claim, an abstract socket \0dockdist/ssh/<port>: such names are one space for a network
// namespace, so for all nodes of a host, and go with the process.
#pragma once

#include "core/result.hpp"
#include "node/system/os.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace dockdist::node {

// Waits for up to five seconds for PID 1 to listen, which may still be preparing the container.
Result<nlohmann::json> ask_init(const nlohmann::json& question);

// The claim itself; conflict when somebody has it.
Result<Fd> claim_port(int port);

} // namespace dockdist::node
