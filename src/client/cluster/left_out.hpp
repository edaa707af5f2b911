// The hosts that an `up` goes on without, where `min_nodes` or --keep-going lets it.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

class LeftOut {
public:
    LeftOut(const ClusterSpec& spec, bool keep_going);

    // Whether `up` goes on without the hosts that these errors are about: then they are left out from now on.
    // Not where one is about no host, or is one that everybody has to know of (a lock, a usage error), or
    // where too few nodes would be left.
    bool take(const Errors& errors);

    // With --keep-going in the hints, where that would do.
    Errors with_way_on(Errors errors) const;

    std::optional<std::size_t> host_of(const Error& error) const; // which it is about
    bool any() const { return !errors_.empty(); }
    const std::vector<bool>& hosts() const { return hosts_; } // in the order of ClusterSpec::hosts
    std::vector<bool> others() const;
    const Errors& errors() const { return errors_; } // why; one or more a host
    std::size_t first_other() const;                 // the host that stands in for the first one

private:
    const ClusterSpec& spec_;
    bool keep_going_;
    std::map<std::string, std::size_t> labels_{};
    std::vector<bool> hosts_;
    Errors errors_{};
};

} // namespace dockdist
