#include "client/job/gpu_text.hpp"

#include "client/report/display_text.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using State = wire::GpuTurn::State;

constexpr std::size_t most_names = 3;  // of nodes that say the same
constexpr std::size_t most_groups = 4; // of nodes
constexpr std::size_t most_waiters = 2;

bool are_slots(const wire::GpuTurn& turn) {
    return (!turn.units.empty() && is_slot(turn.units.front())) ||
           (!turn.held.empty() && is_slot(turn.held.front().unit));
}

// "GPU 0", "GPUs 0-3", "slot 1", "2 MIG instances of GPU 3".
std::string units_text(const std::vector<wire::GpuUnit>& units) {
    std::vector<int> numbers;
    for (const auto& unit : units) {
        numbers.push_back(unit.index);
    }
    std::ranges::sort(numbers);
    const auto several = [](std::size_t count) { return count == 1 ? "" : "s"; };
    if (is_instance(units.front())) {
        const auto count = numbers.size();
        numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
        return fmt::format("{} MIG instance{} of GPU{} {}", count, several(count), several(numbers.size()),
                           ranges_text(numbers));
    }
    return fmt::format("{}{} {}", is_slot(units.front()) ? "slot" : "GPU", several(units.size()),
                       ranges_text(std::move(numbers)));
}

// What others have written on a host's board has no length of its own.
std::string short_name(const std::string& text) {
    constexpr std::size_t longest = 64;
    return clipped(safe_cell(text), longest, false);
}

std::string party_name(const wire::GpuParty& party, std::string_view cluster) {
    auto name = party.job.empty() ? std::string("somebody") : short_name(party.job);
    return party.cluster.empty() || party.cluster == cluster
               ? name
               : name + " of cluster " + short_name(party.cluster);
}

std::string in_brackets(const std::vector<std::string>& parts) {
    return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

// An age is rounded down; what is left at most is rounded up.
std::string at_most(std::int64_t left_s) {
    const std::int64_t more = left_s < 60 ? 0 : left_s < 3600 ? 59 : 3599;
    return "at most " + format_age(std::chrono::seconds(left_s + more));
}

std::string holder(const wire::GpuHold& hold, std::string_view cluster, Ages ages) {
    if (hold.outside) {
        return "a process outside dockdist" +
               (hold.by.job.empty() ? "" : " (" + short_name(hold.by.job) + ")");
    }
    std::vector<std::string> more;
    if (!hold.by.owner.empty()) {
        more.push_back(short_name(hold.by.owner));
    }
    if (ages == Ages::with) {
        more.push_back(format_age(std::chrono::seconds(hold.by.age_s)));
        if (hold.by.left_s > 0) {
            more.push_back(at_most(hold.by.left_s) + " more");
        }
    }
    return party_name(hold.by, cluster) + in_brackets(more);
}

// "job-c (user-c), job-d (user-d) and 3 more". `count`: of all, where not all were told.
std::string waiters_text(const std::vector<wire::GpuWaiter>& waiters, std::size_t count,
                         std::string_view cluster) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < waiters.size() && i < most_waiters; ++i) {
        const auto& who = waiters[i].who;
        names.push_back(party_name(who, cluster) +
                        (who.owner.empty() ? "" : in_brackets({short_name(who.owner)})));
    }
    auto text = fmt::format("{}", fmt::join(names, ", "));
    return count <= names.size() ? text : fmt::format("{} and {} more", text, count - names.size());
}

// "GPU 0 job-a (user-a, 12 min), GPU 1 job-b (user-b, 3 min)".
std::string in_the_way(const wire::GpuTurn& turn, std::string_view cluster, Ages ages) {
    std::vector<std::pair<std::string, std::vector<wire::GpuUnit>>> held; // by whom
    for (const auto& hold : turn.held) {
        auto whom = holder(hold, cluster, ages);
        if (held.empty() || held.back().first != whom) {
            held.emplace_back(std::move(whom), std::vector<wire::GpuUnit>());
        }
        held.back().second.push_back(hold.unit);
    }
    std::string text;
    for (const auto& [whom, units] : held) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", units_text(units), whom);
    }
    if (text.empty()) {
        return turn.ahead.empty() ? "has none free"
                                  : "kept for " + waiters_text(turn.ahead, turn.ahead.size(), cluster);
    }
    return text;
}

// The same nodes; what a job has on several of them is as old as the oldest says: asked a moment later, a
// node says a second more of the same job.
std::vector<NodeTurn> with_common_ages(std::vector<NodeTurn> nodes, std::string_view cluster) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> oldest; // by holder; and what it has left
    for (const auto& [node, turn] : nodes) {
        for (const auto& hold : turn.held) {
            auto& [age_s, left_s] = oldest[holder(hold, cluster, Ages::without)];
            age_s = std::max(age_s, hold.by.age_s);
            left_s = std::max(left_s, hold.by.left_s);
        }
    }
    for (auto& [node, turn] : nodes) {
        for (auto& hold : turn.held) {
            std::tie(hold.by.age_s, hold.by.left_s) = oldest[holder(hold, cluster, Ages::without)];
        }
    }
    return nodes;
}

// Nodes of which the same is said, in the order of the first of each: "node-0, node-1: WHAT; node-2 WHAT".
std::string grouped(const std::vector<std::pair<NodeName, std::string>>& said, bool name_behind) {
    constexpr std::string_view between = "; ";
    std::vector<std::pair<std::string, std::vector<std::string>>> groups; // what, of whom
    std::map<std::string, std::size_t> places;
    for (const auto& [node, what] : said) {
        const auto [place, is_new] = places.try_emplace(what, groups.size());
        if (is_new) {
            groups.emplace_back(what, std::vector<std::string>());
        }
        groups[place->second].second.push_back(node.str());
    }
    std::string text;
    std::size_t left = 0; // nodes
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& [what, nodes] = groups[i];
        if (i >= most_groups) {
            left += nodes.size();
            continue;
        }
        const auto shown = std::vector(
            nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), most_names)));
        auto names = fmt::format("{}", fmt::join(shown, ", "));
        if (nodes.size() > most_names) {
            names += fmt::format(" and {} more nodes", nodes.size() - most_names);
        }
        text += text.empty() ? "" : between;
        text += name_behind         ? what + " on " + names
                : nodes.size() == 1 ? names + " " + what
                                    : names + ": " + what;
    }
    return left == 0 ? text : fmt::format("{}{}{}", text, between, counted(left, "more node"));
}

} // namespace

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string ranges_text(std::vector<int> numbers) {
    std::ranges::sort(numbers);
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        auto end = i + 1;
        while (end < numbers.size() && numbers[end] <= numbers[end - 1] + 1) {
            ++end;
        }
        text += text.empty() ? "" : ",";
        text += std::to_string(numbers[i]);
        if (numbers[end - 1] != numbers[i]) {
            text += "-" + std::to_string(numbers[end - 1]);
        }
        i = end;
    }
    return text;
}

std::string holder_text(const wire::GpuHold& hold, std::string_view cluster) {
    return holder(hold, cluster, Ages::with);
}

std::optional<Error> shared_instance(const NodeTurn& node, int ranks) {
    const auto& units = node.turn.units;
    if (ranks < 2 || units.empty() || !is_instance(units.front())) {
        return std::nullopt;
    }
    return Error{
        ErrorKind::config, node.node.str(),
        fmt::format("CUDA shows a process one MIG instance only, so its {} ranks meet on the first of {}",
                    ranks, units_text(units)),
        "with `--gpus 1` a node runs one rank on one instance"};
}

std::string wanted_text(const std::vector<NodeTurn>& nodes, std::size_t among) {
    int least = 0;
    int most = 0;
    std::vector<std::string> names;
    bool slots = false;
    for (const auto& [node, turn] : nodes) {
        if (turn.state != State::none) {
            least = names.empty() ? turn.wanted : std::min(least, turn.wanted);
            most = std::max(most, turn.wanted);
            names.push_back(node.str());
            slots = slots || are_slots(turn);
        }
    }
    return fmt::format("{}{} on {}", least == most ? "" : fmt::format("{} to ", least),
                       counted(most, slots ? "slot" : "GPU"),
                       among > 0           ? fmt::format("any {} of {} nodes", names.size(), among)
                       : names.size() == 1 ? names.front()
                                           : fmt::format("{} nodes", names.size()));
}

std::string obstacles_text(const std::vector<NodeTurn>& nodes, std::string_view cluster, Ages ages) {
    std::vector<std::pair<NodeName, std::string>> said;
    const wire::GpuTurn* last = nullptr; // where the line is longest
    const auto aged = with_common_ages(nodes, cluster);
    for (const auto& [node, turn] : aged) {
        if (turn.state == State::waits) {
            said.emplace_back(node, in_the_way(turn, cluster, ages));
            last = last == nullptr || turn.place > last->place ? &turn : last;
        }
    }
    auto text = grouped(said, false);
    if (last != nullptr && last->place > 0) {
        text += fmt::format("; place {} in line", last->place);
        if (last->place > 1 && !last->ahead.empty()) {
            text +=
                ", behind " + waiters_text(last->ahead, static_cast<std::size_t>(last->place) - 1, cluster);
        }
    }
    return text;
}

std::string taken_text(const std::vector<NodeTurn>& nodes) {
    std::vector<std::pair<NodeName, std::string>> said;
    for (const auto& [node, turn] : nodes) {
        if (!turn.units.empty() && !are_slots(turn)) {
            said.emplace_back(node, units_text(turn.units) +
                                        (turn.together.empty() ? "" : " (" + turn.together + ")"));
        }
    }
    return grouped(said, true);
}

std::string gpus_of_each_text(const std::vector<NodeTurn>& nodes) {
    std::set<std::ptrdiff_t> counts;
    for (const auto& node : nodes) {
        counts.insert(
            std::ranges::count_if(node.turn.units, [](const wire::GpuUnit& unit) { return !is_slot(unit); }));
    }
    return counts.size() == 1 && *counts.begin() > 1 ? fmt::format("{} GPUs", *counts.begin())
                                                     : std::string();
}

Error gpus_taken_error(const std::vector<NodeTurn>& nodes, std::string_view cluster,
                       const std::string& gave_up, std::size_t among) {
    const bool waited = !gave_up.empty();
    return {
        ErrorKind::busy, "",
        wanted_text(nodes, among) + (waited ? " did not become free " + gave_up : " not available now") +
            ": " + obstacles_text(nodes, cluster),
        fmt::format("{}ask for fewer with `--gpus N`, run on other nodes with `--exclude`, or beside what "
                    "runs there with `--share`; `dockdist gpus` shows who has which",
                    waited ? "" : "wait for them without `--no-wait`, ")};
}

} // namespace dockdist
