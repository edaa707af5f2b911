// The old containers of the nodes that an `up` makes anew: kept until the new ones are ready, so that a node
// whose new container fails is there again as it was.
#pragma once

#include "client/observe/observe.hpp"
#include "client/plan/plan.hpp"
#include "client/report/event.hpp"

#include <set>
#include <string>
#include <vector>

namespace dockdist {

class ReplacedNodes {
public:
    ReplacedNodes(const ClusterSpec& spec, const Engines& engines, Reporter& reporter)
        : spec_(spec), engines_(engines), reporter_(reporter) {}

    // Makes the name free. The container runs on.
    Task<Status> set_aside(const CreateNode& create);
    std::set<std::size_t> hosts() const;
    bool replaces(const NodeName& node) const; // its old container has been set aside
    // The new ones have started: the old ones' sshd, which may have the port that they are to have, ends.
    Task<Status> stop_on(std::size_t host);
    // The new ones are ready, and get what the old ones have kept of jobs, hand_over.hpp; what could not come
    // is told. `hosts`, also below: those of them, in the order of ClusterSpec::hosts.
    Task<Errors> remove(std::vector<bool> hosts);
    // Removes the new ones, as far as they are `attempt`'s. The old ones that were stopped have started
    // again, and are to be joined with the others: their keys went with them.
    Task<Errors> bring_back(std::string attempt, std::vector<bool> hosts);
    bool stopped_any() const;

private:
    struct Old {
        std::size_t host = 0;
        NodeName node{};
        ReplacedNode container{};
        std::string own_name{}; // that it had, and gets back
        bool stopped = false;
    };
    Task<Status> stop(Old& old);
    Task<Status> bring_back(const Old& old, const std::string& attempt);
    Task<Status> give_name_back(const Old& old, const std::string& attempt);
    Task<Errors> hand_over_and_remove(const Old& old);
    Task<Status> remove(const Old& old);

    const ClusterSpec& spec_;
    const Engines& engines_;
    Reporter& reporter_;
    std::vector<Old> old_{};
};

} // namespace dockdist
