#include "shared/wire/handed_on.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::wire {
namespace {

// Each is a login of about 0.1 s that runs beside the others: four hands reach 4,000 hosts.
constexpr std::size_t fan_out = 8;
constexpr std::size_t bytes_of_client = 64U << 10U;

} // namespace

std::size_t told_by_client(std::size_t list_bytes, std::size_t nodes) {
    return std::min(nodes, std::max<std::size_t>(1, bytes_of_client / std::max<std::size_t>(1, list_bytes)));
}

Hands::Hands(std::vector<std::string> hosts, std::size_t first) : hosts_(std::move(hosts)), first_(first) {
    for (std::size_t place = 0; place < hosts_.size(); ++place) {
        const auto [host, is_new] = by_name_.try_emplace(hosts_[place], Host{.number = heads_.size()});
        host->second.places.push_back(place);
        if (is_new) {
            heads_.push_back(place);
        }
    }
}

std::optional<std::size_t> Hands::giver_of(std::size_t place) const {
    if (all_from_client()) {
        return std::nullopt;
    }
    const auto& host = host_of(place);
    if (place != host.places.front()) {
        return host.places.front();
    }
    return host.number < first_ ? std::nullopt : std::optional(heads_[(host.number - first_) / fan_out]);
}

std::vector<std::size_t> Hands::receivers_of(std::size_t place) const {
    const auto& host = host_of(place);
    if (all_from_client() || place != host.places.front()) {
        return {};
    }
    std::vector<std::size_t> places;
    const auto begin = first_ + host.number * fan_out;
    for (auto number = begin; number < std::min(begin + fan_out, heads_.size()); ++number) {
        places.push_back(heads_[number]);
    }
    places.insert(places.end(), host.places.begin() + 1, host.places.end());
    return places;
}

int Hands::hands_before(std::size_t place) const {
    int hands = 0;
    for (auto giver = giver_of(place); giver; giver = giver_of(*giver)) {
        ++hands;
    }
    return hands;
}

} // namespace dockdist::wire
