// Waits for changes in trees of this machine, by inotify.
#pragma once

#include "client/async/task.hpp"
#include "client/sync/local_tree.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <set>
#include <string>

namespace dockdist {

class TreeWatch {
public:
    explicit TreeWatch(const boost::asio::any_io_executor& executor);

    // Watches every folder of the tree; ones that are watched already stay so. True when there was a new one:
    // look at the tree once more then, as it may have changed before it was watched.
    Result<bool> watch(const LocalTree& tree);
    // Until something has changed and then nothing more for a tenth of a second, or for one second at most.
    Task<Status> changed();

private:
    Status add(const std::string& folder);
    bool drain(); // whether anything was there

    boost::asio::posix::stream_descriptor inotify_;
    int error_ = 0;
    std::set<int> watches_{};
};

} // namespace dockdist
