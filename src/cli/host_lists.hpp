// Lists of hosts that cluster.yaml names with `from`: files are read, commands are run, Slurm is asked.
#pragma once

#include "async/task.hpp"
#include "spec/load_spec.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <filesystem>
#include <map>
#include <vector>

namespace dockdist {

// One after the other. `spec_file` is what names them: a command is run only where nobody else could have
// written it there. Errors: config; without `where`.
Task<std::map<HostSource, Result<std::string>>> read_host_lists(boost::asio::any_io_executor executor,
                                                                std::vector<HostSource> sources,
                                                                std::filesystem::path spec_file);

} // namespace dockdist
