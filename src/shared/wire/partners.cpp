#include "shared/wire/partners.hpp"

#include <algorithm>
#include <map>

namespace dockdist::wire {
namespace {

// The first node of each host, then the second of each, and so on.
std::vector<std::size_t> by_turns(const std::vector<std::string>& hosts) {
    std::map<std::string, std::size_t> nodes_of;
    std::vector<std::pair<std::size_t, std::size_t>> turns; // which one of its host, place
    for (std::size_t place = 0; place < hosts.size(); ++place) {
        turns.emplace_back(nodes_of[hosts[place]]++, place);
    }
    std::ranges::sort(turns);
    std::vector<std::size_t> order;
    std::ranges::transform(turns, std::back_inserter(order), [](const auto& turn) { return turn.second; });
    return order;
}

} // namespace

std::vector<std::size_t> partners_of(std::size_t place, const std::vector<std::string>& hosts) {
    const auto order = by_turns(hosts);
    const auto count = order.size();
    const auto own = static_cast<std::size_t>(std::ranges::find(order, place) - order.begin());
    const auto after = [&](std::size_t steps) { return order[(own + steps) % count]; };
    std::vector<std::size_t> partners;
    for (const auto steps : {std::size_t{1}, std::size_t{2}, std::max<std::size_t>(3, (count + 1) / 2)}) {
        if (after(steps) != place && std::ranges::find(partners, after(steps)) == partners.end()) {
            partners.push_back(after(steps));
        }
    }
    const auto of_another_host = [&](std::size_t other) { return hosts[other] != hosts[place]; };
    if (!partners.empty() && std::ranges::none_of(partners, of_another_host)) {
        for (std::size_t steps = 1; steps < count; ++steps) {
            if (of_another_host(after(steps))) {
                partners.back() = after(steps);
                break;
            }
        }
    }
    return partners;
}

} // namespace dockdist::wire
