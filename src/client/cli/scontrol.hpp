// Slurm, asked by its own programs. Errors: config, without `where`.
#pragma once

#include "client/async/task.hpp"
#include "shared/core/result.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <string>
#include <vector>

namespace dockdist {

// What a program of Slurm's prints: {"scontrol", "show", "job", "4711"}.
Task<Result<std::string>> ask_slurm(boost::asio::any_io_executor executor, std::vector<std::string> command);

// The allocation that this process is in, as parse_allocation() reads it.
Task<Result<std::string>> read_own_allocation(boost::asio::any_io_executor executor);

} // namespace dockdist
