// What is run on a node of an allocation, as the words of `srun …`; and what srun says when it fails. Pure.
#pragma once

#include "shared/core/engine_address.hpp"
#include "shared/wire/tunnel.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist {

struct SlurmPlace {
    std::string job{};  // digits
    std::string node{}; // Slurm's name of it
};

// Where `address` is. `job`: SLURM_JOB_ID, empty outside of an allocation. Errors: config.
Result<SlurmPlace> slurm_place(const EngineAddress& address, std::string_view job);

// The step that first reads `program_size` bytes of its stdin, dockdist-init for `machine` (`uname -m`), then
// says tunnel_begins and becomes the tunnel's end. Nothing of it stays on the node: the file has no name any
// more when it is run.
std::vector<std::string> tunnel_step(const SlurmPlace& place, const wire::TunnelAsk& ask,
                                     std::size_t program_size, std::string_view machine);
inline constexpr std::string_view tunnel_begins = "\ndockdist: the tunnel begins\n";

// The step that is the node's engine as long as the allocation lasts: Podman, as the allocation's user, on
// engine_socket(). Its exit code is engine_elsewhere where another step is that already, and foreign_folder
// where somebody else has the folder.
std::vector<std::string> engine_step(const SlurmPlace& place, const std::string& folder);
std::vector<std::string> engine_log_step(const SlurmPlace& place, const std::string& folder);
inline constexpr int engine_elsewhere = 75;
inline constexpr int foreign_folder = 76;
std::string engine_folder(const SlurmPlace& place, uid_t user);
std::string engine_socket(const std::string& folder);

// Of the node, where tunnel_step() was given a program for another one; else "".
std::string other_machine(std::string_view complaints);
// Whether srun's words say so: no other try does better then.
bool allocation_ended(std::string_view complaints);
// Why there is no step, or none any more, by all that srun wrote to stderr.
Error step_error(const SlurmPlace& place, std::string_view what, std::string_view complaints);
// Why the node's end does not reach the socket.
Error socket_refusal(const EngineAddress& address, const std::string& path,
                     const wire::TunnelFailure& failure);

} // namespace dockdist
