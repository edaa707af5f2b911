#include "shared/gpu/place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using Sites = std::vector<std::size_t>; // by index

// The lower, the better: of nodes that fit how whole they are and what is left of them, of others how long it
// may take.
using Cost = std::array<std::int64_t, 3>;

class Placer {
public:
    Placer(const std::vector<Site>& sites, bool now)
        : sites_(sites), now_(now), chosen_(sites.size(), false) {}

    std::optional<Sites> place(const std::vector<Seats>& seats) {
        Sites all;
        for (const auto& [count, among] : seats) {
            Sites possible;
            std::ranges::copy_if(among, std::back_inserter(possible), [&](std::size_t site) {
                return sites_[site].there && !chosen_[site] && (!now_ || sites_[site].fits);
            });
            picked_.clear();
            if (now_) {
                choose(std::move(possible), count);
            } else {
                take_best(std::move(possible), count);
            }
            if (picked_.size() < count) {
                return std::nullopt;
            }
            const std::set<std::size_t> picked(picked_.begin(), picked_.end());
            std::ranges::copy_if(among, std::back_inserter(all), // in the order that was asked for
                                 [&](std::size_t site) { return picked.contains(site); });
        }
        return all;
    }

private:
    Cost cost_of(std::size_t index) const {
        const auto& site = sites_[index];
        const auto wanted = static_cast<std::int64_t>(site.wanted);
        const auto free = static_cast<std::int64_t>(site.free.size());
        if (!now_) {
            constexpr auto never = std::numeric_limits<std::int64_t>::max();
            return {site.fits ? 0 : site.ahead, site.fits ? 0 : site.left_s.value_or(never),
                    std::max<std::int64_t>(wanted - free, 0)};
        }
        const bool breaks_a_whole_one = site.free.size() == site.could.size() && free > wanted;
        return {breaks_a_whole_one ? 1 : 0, free - wanted, 0};
    }

    // Nodes that see the same units may be too many for them together.
    bool goes_with_the_chosen(std::size_t index) const {
        const auto units_of = [&](std::size_t site) -> const auto& {
            return now_ ? sites_[site].free : sites_[site].could;
        };
        std::set<std::size_t> others;
        for (const auto& unit : sites_[index].could) {
            const auto [first, last] = users_.equal_range(unit);
            std::for_each(first, last, [&](const auto& user) { others.insert(user.second); });
        }
        if (others.empty()) {
            return true;
        }
        others.insert(index);
        std::set<std::string_view> units;
        std::int64_t wanted = 0;
        for (const auto site : others) {
            units.insert(units_of(site).begin(), units_of(site).end());
            wanted += sites_[site].wanted;
        }
        return wanted <= static_cast<std::int64_t>(units.size());
    }

    // True: it is chosen.
    bool pick(std::size_t index) {
        if (chosen_[index] || !goes_with_the_chosen(index)) {
            return false;
        }
        chosen_[index] = true;
        picked_.push_back(index);
        for (const auto& unit : sites_[index].could) {
            users_.emplace(unit, index);
        }
        return true;
    }

    std::size_t take_best(Sites possible, std::size_t count) {
        std::ranges::sort(possible, {}, [&](std::size_t site) { return std::pair(cost_of(site), site); });
        std::size_t taken = 0;
        for (auto site = possible.begin(); taken < count && site != possible.end(); ++site) {
            taken += pick(*site) ? 1 : 0;
        }
        return taken;
    }

    std::map<std::size_t, Sites> domains_in(const Sites& possible) const {
        std::map<std::size_t, Sites> domains;
        for (const auto site : possible) {
            for (const auto domain : sites_[site].domains) {
                domains[domain].push_back(site);
            }
        }
        // One that holds them all says nothing.
        std::erase_if(domains, [&](const auto& domain) { return domain.second.size() == possible.size(); });
        return domains;
    }

    // A rack lies in a row of racks: the more domains they have in common, the nearer they are.
    std::ptrdiff_t shared_by(const Sites& members) const {
        return std::ranges::count_if(sites_[members.front()].domains, [&](std::size_t domain) {
            return std::ranges::all_of(members, [&](std::size_t site) {
                return std::ranges::find(sites_[site].domains, domain) != sites_[site].domains.end();
            });
        });
    }

    Cost cost_of_best(const Sites& possible, std::size_t count) const {
        std::vector<Cost> costs;
        std::ranges::transform(possible, std::back_inserter(costs), [&](auto site) { return cost_of(site); });
        std::ranges::sort(costs);
        Cost sum{};
        for (std::size_t i = 0; i < std::min(count, costs.size()); ++i) {
            sum[0] += costs[i][0];
            sum[1] += costs[i][1];
        }
        return sum;
    }

    // The one domain of the best fit, where one has enough; else the largest, and the rest beside it.
    void choose(Sites possible, std::size_t count) {
        const auto domains = domains_in(possible);
        const Sites* one = nullptr;
        const Sites* largest = nullptr;
        const auto key = [&](const Sites& members) {
            return std::tuple(cost_of_best(members, count), members.size(), -shared_by(members),
                              members.front());
        };
        for (const auto& [domain, members] : domains) {
            if (members.size() >= count && (one == nullptr || key(members) < key(*one))) {
                one = &members;
            }
            if (largest == nullptr || members.size() > largest->size()) {
                largest = &members;
            }
        }
        if (one != nullptr) {
            const auto before = picked_.size();
            choose(*one, count);
            count -= picked_.size() - before;
        } else if (largest != nullptr) {
            count -= take_best(*largest, count);
            const std::set<std::size_t> gone(largest->begin(), largest->end());
            std::erase_if(possible, [&](std::size_t site) { return gone.contains(site); });
            return count > 0 ? choose(std::move(possible), count) : void();
        }
        if (count > 0) {
            take_best(std::move(possible), count);
        }
    }

    const std::vector<Site>& sites_;
    bool now_;
    std::vector<bool> chosen_;
    Sites picked_{}; // for the seats that are looked at
    std::multimap<std::string, std::size_t, std::less<>> users_{};
};

} // namespace

std::optional<std::vector<std::size_t>> place(const std::vector<Site>& sites,
                                              const std::vector<Seats>& seats) {
    return Placer(sites, true).place(seats);
}

std::optional<std::vector<std::size_t>> place_to_wait(const std::vector<Site>& sites,
                                                      const std::vector<Seats>& seats) {
    return Placer(sites, false).place(seats);
}

} // namespace dockdist
