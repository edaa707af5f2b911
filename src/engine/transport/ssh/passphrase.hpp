// Asks a person at the terminal.
#pragma once

#include "async/task.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace dockdist {

// On /dev/tty, without echo; the loop goes on meanwhile. Errors: config, when there is no terminal.
Task<Result<std::string>> read_passphrase(boost::asio::any_io_executor executor, std::string prompt);

} // namespace dockdist
