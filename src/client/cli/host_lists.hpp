// Lists of hosts that cluster.yaml names with `from`: files are read, commands are run, Slurm is asked.
#pragma once

#include "client/async/task.hpp"
#include "client/spec/load_spec.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <vector>

namespace dockdist {

// One after the other. `spec` is what names them. A command is run, in the folder of that file, where nobody
// else could have written the file, the program, or another file among the command's words; a list is taken
// where not everybody could have written it. Errors: config; without `where`.
Task<HostLists> read_host_lists(boost::asio::any_io_executor executor, std::vector<HostSource> sources,
                                SpecText spec);

} // namespace dockdist
