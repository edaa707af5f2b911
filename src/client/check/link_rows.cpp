#include "client/check/link_rows.hpp"

#include "client/check/partners.hpp"
#include "shared/core/median.hpp"
#include "shared/core/text.hpp"
#include "shared/measurement/slow_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace dockdist {
namespace {

using State = CheckRow::State;

// Less than this below the others is no finding: TCP shares its path, and the hosts' processors, with other
// work.
constexpr double tcp_share = 0.25;

constexpr auto firewall_hint =
    "a firewall or security group is in the way: between the hosts, TCP ports 20000-29999 (rendezvous) and "
    "the "
    "ephemeral ports that NCCL and Gloo take (32768-60999) must be open in both directions";
constexpr auto mtu_hint = "a switch, tunnel or interface on the path has a smaller "
                          "MTU than the hosts assume, and ICMP is filtered: "
                          "compare `ip link` on both hosts, try `ping -M do -s 1472` (8972 for jumbo "
                          "frames), and set the smaller MTU";
constexpr auto slow_hint =
    "is it the right network interface (`dockdist status` shows each node's), at its full rate (`ethtool "
    "IFACE`), with "
    "a sound cable and switch port (`ethtool -S IFACE`: errors, drops), and is nothing else using it?";

CheckRow link_row(State state, std::string subject, std::string check, std::string text,
                  std::string hint = {}) {
    return {.state = state,
            .layer = CheckLayer::network,
            .subject = std::move(subject),
            .check = std::move(check),
            .text = std::move(text),
            .hint = std::move(hint)};
}

std::string path(const std::vector<NodeName>& nodes, std::size_t from, std::size_t to) {
    return nodes[from].str() + " → " + nodes[to].str();
}

std::string words(const PathAnswer& answer) {
    switch (answer.outcome) {
    case wire::LinkOutcome::refused:
        return "connections to a rendezvous port are refused";
    case wire::LinkOutcome::dropped:
        return "connections to a rendezvous port are silently dropped";
    case wire::LinkOutcome::unreachable:
        return "a rendezvous port is not reached: " + answer.message;
    case wire::LinkOutcome::silent:
        return "a rendezvous port opens, and then no packet comes back";
    case wire::LinkOutcome::large_lost:
        return "small packets pass, and large ones are lost";
    case wire::LinkOutcome::open:
    case wire::LinkOutcome::failed:
        break;
    }
    return "could not be tried" + (answer.message.empty() ? "" : ": " + answer.message);
}

// Those that share an outcome, by who is at one end of all.
struct Failures {
    const std::vector<NodeName>& nodes;
    std::map<std::size_t, std::size_t> tried_to{}, tried_from{}; // by node: ways, whatever came of them
    std::vector<const PathAnswer*> paths{};
    std::vector<CheckRow> rows{};

    // "all others"; of many nodes not all were tried.
    std::string others(std::size_t count) const {
        return count == nodes.size() - 1 ? "all others" : std::to_string(count) + " others";
    }

    void add_rows(const std::string& check, const std::string& hint) {
        std::map<std::size_t, std::size_t> to;
        std::map<std::size_t, std::size_t> from;
        for (const auto* failed : paths) {
            ++to[failed->to];
            ++from[failed->from];
        }
        std::set<std::size_t> told_to;
        std::set<std::size_t> told_from;
        for (const auto* failed : paths) {
            const auto to_it = to[failed->to];
            const auto from_it = from[failed->from];
            if (to_it > 1 && to_it == tried_to[failed->to]) {
                if (told_to.insert(failed->to).second) {
                    rows.push_back(link_row(State::fail, others(to_it) + " → " + nodes[failed->to].str(),
                                            check, words(*failed), hint));
                }
            } else if (from_it > 1 && from_it == tried_from[failed->from]) {
                if (told_from.insert(failed->from).second) {
                    rows.push_back(link_row(State::fail, nodes[failed->from].str() + " → " + others(from_it),
                                            check, words(*failed), hint));
                }
            } else {
                rows.push_back(link_row(State::fail, path(nodes, failed->from, failed->to), check,
                                        words(*failed), hint));
            }
        }
    }
};

std::string microseconds(double us) {
    return us < 1000 ? fmt::format("{:.0f} µs", us) : fmt::format("{:.1f} ms", us / 1000);
}

void add_latency_rows(const std::vector<NodeName>& nodes, const std::vector<PathAnswer>& paths,
                      std::vector<CheckRow>& rows) {
    std::vector<double> times;
    const PathAnswer* slowest = nullptr;
    for (const auto& one : paths) {
        if (one.latency_us) {
            times.push_back(*one.latency_us);
            slowest = slowest == nullptr || *one.latency_us > *slowest->latency_us ? &one : slowest;
        }
    }
    if (slowest == nullptr) {
        return;
    }
    const auto usual = median(times);
    const auto text =
        fmt::format("round trip {} (median), slowest {} from {}", microseconds(usual),
                    microseconds(*slowest->latency_us), path(nodes, slowest->from, slowest->to));
    // A busy machine delays a process by a millisecond or two: that alone is no slow path.
    const bool far = times.size() > 2 && *slowest->latency_us > 5 * usual + 2000;
    rows.push_back(link_row(
        far ? State::warn : State::pass, "all nodes", "latency", text,
        far ? "is the slow pair in another rack, zone or network, or is one of its hosts overloaded?" : ""));
}

struct Slow {
    SlowParts parts{};
    std::vector<PairMeasurement> pairs{}; // of a pair, its slower direction
};

Slow find_slow_pairs(std::size_t nodes, const std::vector<PathBandwidth>& paths) {
    std::map<Pair, double> least;
    for (const auto& one : paths) {
        if (one.problem.empty()) {
            const Pair pair = std::minmax(one.from, one.to);
            const auto [place, is_new] = least.try_emplace(pair, one.bytes_per_second);
            place->second = std::min(place->second, one.bytes_per_second);
        }
    }
    Slow slow;
    for (const auto& [pair, bandwidth] : least) {
        slow.pairs.push_back({.pair = pair, .bandwidth = bandwidth});
    }
    slow.parts = find_slow(nodes, slow.pairs, tcp_share);
    return slow;
}

// The median of what a node sends, or receives.
double of_node(std::size_t node, bool sends, const std::vector<PathBandwidth>& paths) {
    std::vector<double> measurements;
    for (const auto& one : paths) {
        if (one.problem.empty() && (sends ? one.from : one.to) == node) {
            measurements.push_back(one.bytes_per_second);
        }
    }
    return median(measurements);
}

State state_beside(double measurement, double usual) {
    return measurement < usual / 2 ? State::fail : State::warn;
}

std::string sent_again(const PathBandwidth& one) {
    const auto share = one.segments == 0
                           ? 0.0
                           : static_cast<double>(one.sent_again) * 100 / static_cast<double>(one.segments);
    return share < 0.1 ? "" : fmt::format(", {:.1f} % of its segments retransmitted", share);
}

void add_slow_rows(const std::vector<NodeName>& nodes, const std::vector<PathBandwidth>& paths,
                   const Slow& slow, std::vector<CheckRow>& rows) {
    const auto usual = slow.parts.usual;
    for (const auto node : slow.parts.nodes) {
        const auto out = of_node(node, true, paths);
        const auto in = of_node(node, false, paths);
        rows.push_back(
            link_row(state_beside(std::min(out, in), usual), nodes[node].str(), "bandwidth",
                     fmt::format("sends {}, receives {}, with every other node; the others reach {}",
                                 format_bandwidth(out), format_bandwidth(in), format_bandwidth(usual)),
                     slow_hint));
    }
    for (const auto& link : slow.parts.links) {
        for (const auto& one : paths) {
            const Pair pair = std::minmax(one.from, one.to);
            if (pair == link && one.problem.empty() && one.bytes_per_second < usual * (1 - tcp_share)) {
                rows.push_back(link_row(state_beside(one.bytes_per_second, usual),
                                        path(nodes, one.from, one.to), "bandwidth",
                                        fmt::format("{}{}; other links of both nodes reach {}",
                                                    format_bandwidth(one.bytes_per_second), sent_again(one),
                                                    format_bandwidth(usual)),
                                        slow_hint));
            }
        }
    }
}

} // namespace

std::string format_bandwidth(double bytes_per_second) {
    const auto megabits = bytes_per_second * 8 / 1e6;
    const auto value = megabits < 1000 ? megabits : megabits / 1000;
    return fmt::format("{:.{}f} {}bit/s", value,
                       value < 10    ? 2
                       : value < 100 ? 1
                                     : 0,
                       megabits < 1000 ? "M" : "G");
}

std::vector<PathAnswer> paths_from(std::size_t from, const std::vector<wire::LinkMeeting>& meetings,
                                   const std::vector<NodeName>& nodes) {
    std::vector<PathAnswer> paths;
    for (const auto& meeting : meetings) {
        const auto to = std::ranges::find(nodes, meeting.node, &NodeName::str);
        if (to != nodes.end()) {
            paths.push_back({.from = from,
                             .to = static_cast<std::size_t>(to - nodes.begin()),
                             .outcome = meeting.outcome,
                             .message = printable(meeting.message),
                             .latency_us = meeting.latency_us});
        }
    }
    return paths;
}

std::vector<CheckRow> judge_paths(const std::vector<NodeName>& nodes, const std::vector<PathAnswer>& paths) {
    std::map<std::string_view, Failures> failures; // by word, so that rows stand in the order of words
    Failures none{.nodes = nodes};
    std::set<std::size_t> met;
    for (const auto& one : paths) {
        met.insert({one.from, one.to});
        ++none.tried_to[one.to];
        ++none.tried_from[one.from];
    }
    for (const auto& one : paths) {
        if (one.outcome != wire::LinkOutcome::open) {
            failures.try_emplace(to_string(one.outcome), none).first->second.paths.push_back(&one);
        }
    }
    std::vector<CheckRow> rows;
    bool all_open = !paths.empty();
    for (auto& [word, failed] : failures) {
        const bool mtu = failed.paths.front()->outcome == wire::LinkOutcome::large_lost;
        all_open = all_open && mtu;
        failed.add_rows(mtu ? "path-mtu" : "ports", mtu ? mtu_hint : firewall_hint);
        std::ranges::move(failed.rows, std::back_inserter(rows));
    }
    if (all_open) {
        rows.insert(rows.begin(),
                    link_row(State::pass, "all nodes", "ports",
                             (failures.empty() ? "rendezvous ports open both ways, large packets pass"
                                               : "rendezvous ports open both ways") +
                                 part_of_pairs(paths.size(), met.size())));
    }
    add_latency_rows(nodes, paths, rows);
    return rows;
}

std::vector<CheckRow> judge_bandwidths(const std::vector<NodeName>& nodes,
                                       const std::vector<PathBandwidth>& paths) {
    std::vector<CheckRow> rows;
    std::vector<const PathBandwidth*> measured;
    for (const auto& one : paths) {
        if (one.problem.empty()) {
            measured.push_back(&one);
        } else {
            rows.push_back(link_row(State::fail, path(nodes, one.from, one.to), "bandwidth",
                                    "not measured: " + one.problem, firewall_hint));
        }
    }
    if (measured.empty()) {
        return rows;
    }
    const auto [least, most] = std::ranges::minmax_element(
        measured, {}, [](const PathBandwidth* one) { return one->bytes_per_second; });
    const auto slow = find_slow_pairs(nodes.size(), paths);
    add_slow_rows(nodes, paths, slow, rows);
    // Of two nodes nobody can say what is usual, but one direction is there to compare the other with.
    if (nodes.size() == 2 && measured.size() == 2 &&
        (*least)->bytes_per_second < (*most)->bytes_per_second / 2) {
        rows.push_back(
            link_row(State::warn, path(nodes, (*least)->from, (*least)->to), "bandwidth",
                     fmt::format("{}{}, and {} the other way", format_bandwidth((*least)->bytes_per_second),
                                 sent_again(**least), format_bandwidth((*most)->bytes_per_second)),
                     slow_hint));
    }
    if (rows.empty()) {
        rows.push_back(link_row(State::pass, "all nodes", "bandwidth",
                                fmt::format("TCP {} to {}, both directions at once",
                                            format_bandwidth((*least)->bytes_per_second),
                                            format_bandwidth((*most)->bytes_per_second))));
    }
    return rows;
}

std::vector<bool> slow_paths(std::size_t nodes, const std::vector<PathBandwidth>& paths) {
    const auto slow = find_slow_pairs(nodes, paths).parts;
    const auto is_slow_node = [&](std::size_t node) {
        return std::ranges::find(slow.nodes, node) != slow.nodes.end();
    };
    std::vector<bool> marks;
    for (const auto& one : paths) {
        const Pair pair = std::minmax(one.from, one.to);
        const bool named = is_slow_node(one.from) || is_slow_node(one.to) ||
                           std::ranges::find(slow.links, pair) != slow.links.end();
        marks.push_back(named && one.problem.empty() &&
                        (slow.usual <= 0 || one.bytes_per_second < slow.usual * (1 - tcp_share)));
    }
    return marks;
}

} // namespace dockdist
