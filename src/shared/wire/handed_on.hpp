// How the list of members reaches every node while the client sends it O(1) times: the client gives it to the
// first few hosts, and each hands it on to others, in rank order. In a host its first node has it first, and
// hands it to its neighbours. A place is a node's index in the list.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::wire {

// How many get a list of that size from the client: as many as it can tell with 64 KiB, so that a small
// cluster loses no time, and one at least.
std::size_t told_by_client(std::size_t list_bytes, std::size_t nodes);

class Hands {
public:
    // `hosts` names each place's host, by its address; the client gives the list to the first nodes of the
    // first `first` hosts, or to all nodes where these are no more than that.
    Hands(std::vector<std::string> hosts, std::size_t first);

    // The place of the node that hands the list to `place`, always a smaller one; nothing: the client does.
    std::optional<std::size_t> giver_of(std::size_t place) const;
    // The places that `place` hands it to: the first nodes of eight hosts at most, and its neighbours.
    std::vector<std::size_t> receivers_of(std::size_t place) const;
    // From how many nodes' hands the list comes to `place`, one after the other.
    int hands_before(std::size_t place) const;

private:
    struct Host {
        std::size_t number = 0; // in the order of their first nodes
        std::vector<std::size_t> places{};
    };
    const Host& host_of(std::size_t place) const { return by_name_.at(hosts_[place]); }
    bool all_from_client() const { return first_ >= hosts_.size(); }

    std::vector<std::string> hosts_;
    std::size_t first_;
    std::map<std::string, Host> by_name_{};
    std::vector<std::size_t> heads_{}; // the first place of each host
};

} // namespace dockdist::wire
