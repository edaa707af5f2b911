#include "client/check/peers.hpp"

#include "client/check/compare.hpp"
#include "client/check/partners.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {
namespace {

constexpr const char* refused_hint =
    "does a firewall between the hosts stop the ssh port? if not, run `dockdist "
    "down` and `dockdist up` to join the nodes again";

CheckRow peer_row(CheckRow::State state, std::string subject, std::string text, std::string hint) {
    return {.state = state,
            .layer = CheckLayer::network,
            .subject = std::move(subject),
            .check = "ssh",
            .text = std::move(text),
            .hint = std::move(hint)};
}

struct Failed {
    std::vector<std::string> from{};
    std::vector<std::string> messages{}; // each once
};

std::string joined(const std::vector<std::string>& words, const char* separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

struct Logins {
    std::map<std::string, Failed> by_target{};
    std::vector<std::string> well{}; // nodes that log in to every other
    wire::PeerLogin slowest{};       // of those
    std::string slowest_from{};

    std::size_t pairs = 0; // that were tried

    void take(const CheckedNode& node) {
        const auto& tried = *node.facts.logins;
        bool all = true;
        for (const auto& peer : tried) {
            if (!peer.ok) {
                all = false;
                add_failure(node, peer.peer, peer.message);
            }
        }
        // What a node was told to try, and did not come back from, is no login either.
        for (const auto& peer : node.peers) {
            if (std::ranges::find(tried, peer, &wire::PeerLogin::peer) == tried.end()) {
                all = false;
                add_failure(node, peer, "no answer in time");
            }
        }
        if (!all) {
            return;
        }
        well.push_back(node.name.str());
        const auto last = std::ranges::max_element(tried, {}, &wire::PeerLogin::ms);
        if (last != tried.end() && last->ms >= slowest.ms) {
            slowest = *last;
            slowest_from = node.name.str();
        }
    }

    CheckRow row_of_well(std::size_t nodes) const {
        if (nodes == 1) {
            return peer_row(CheckRow::State::pass, well.front(), "no other node", "");
        }
        return peer_row(CheckRow::State::pass, well.size() == nodes ? "all nodes" : list_names(well),
                        fmt::format("{} in to {}, slowest {} ms ({} to {})",
                                    well.size() == 1 ? "logs" : "each logs", to_whom(nodes), slowest.ms,
                                    slowest_from, printable(slowest.peer)),
                        "");
    }

private:
    std::string to_whom(std::size_t nodes) const {
        const auto part = part_of_pairs(pairs, nodes);
        return part.empty() ? "every other" : "some others" + part;
    }

    void add_failure(const CheckedNode& node, const std::string& peer, const std::string& why) {
        auto& failed = by_target[printable(peer)];
        failed.from.push_back(node.name.str());
        const auto message = printable(why);
        if (std::ranges::find(failed.messages, message) == failed.messages.end()) {
            failed.messages.push_back(message);
        }
    }
};

// Nodes that several others fail to get into, taken out of `by_target`.
std::vector<CheckRow> take_unreachable(std::map<std::string, Failed>& by_target) {
    std::vector<CheckRow> rows;
    for (auto it = by_target.begin(); it != by_target.end();) {
        if (it->second.from.size() < 2) {
            ++it;
            continue;
        }
        rows.push_back(peer_row(CheckRow::State::fail, it->first,
                                fmt::format("no login from {}: {}", list_names(it->second.from),
                                            joined(it->second.messages, "; ")),
                                refused_hint));
        it = by_target.erase(it);
    }
    return rows;
}

} // namespace

std::vector<CheckRow> judge_logins(const std::vector<CheckedNode>& nodes) {
    std::vector<CheckRow> rows;
    Logins logins;
    for (const auto& node : nodes) {
        logins.pairs += node.peers.size();
        if (node.facts.logins) {
            logins.take(node);
        } else {
            rows.push_back(peer_row(CheckRow::State::fail, node.name.str(),
                                    "could not be tried: " + printable(node.facts.logins.error().message),
                                    "run `dockdist up` to join the nodes again"));
        }
    }
    const auto unreachable = take_unreachable(logins.by_target);
    for (const auto& node : nodes) {
        std::vector<std::string> failed;
        for (const auto& [peer, how] : logins.by_target) {
            if (how.from.front() == node.name.str()) {
                failed.push_back(peer + ": " + joined(how.messages, "; "));
            }
        }
        if (!failed.empty()) {
            rows.push_back(peer_row(CheckRow::State::fail, node.name.str(),
                                    "no login to " + joined(failed, "; "), refused_hint));
        }
    }
    rows.insert(rows.end(), unreachable.begin(), unreachable.end());
    if (!logins.well.empty()) {
        rows.push_back(logins.row_of_well(nodes.size()));
    }
    return rows;
}

} // namespace dockdist
