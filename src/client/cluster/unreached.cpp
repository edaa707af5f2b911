#include "client/cluster/unreached.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace dockdist {
namespace {

constexpr std::size_t most_unfolded = 4; // nodes
constexpr std::size_t most_reporters_named = 3;
constexpr std::size_t most_causes = 2; // of one peer
constexpr std::size_t longest_cause = 80;

struct Peer {
    std::vector<std::string> reporters{};
    std::vector<std::string> causes{};
    std::string hint{};
};
using Peers = std::map<std::string, Peer>; // by their names

void add(Peers& peers, const JoinFailure& failure) {
    for (const auto& unreached : failure.unreached) {
        auto& peer = peers[unreached.node];
        if (peer.reporters.empty() || peer.reporters.back() != failure.node) {
            peer.reporters.push_back(failure.node);
        }
        const auto cause = printable(unreached.cause).substr(0, longest_cause);
        if (peer.causes.size() < most_causes && std::ranges::find(peer.causes, cause) == peer.causes.end()) {
            peer.causes.push_back(cause);
        }
        peer.hint = failure.error.hint;
    }
}

Peers peers_of(const std::vector<JoinFailure>& failures) {
    Peers all;
    for (const auto& failure : failures) {
        add(all, failure);
    }
    Peers trusted;
    for (const auto& failure : failures) {
        if (!all.contains(failure.node)) {
            add(trusted, failure);
        }
    }
    return trusted.empty() ? all : trusted;
}

std::string to_text(const Peer& peer, const wire::NodeRecord& record, std::size_t nodes) {
    const auto& reporters = peer.reporters;
    return fmt::format("{} cannot reach it at {}:{}: {}",
                       reporters.size() > most_reporters_named
                           ? fmt::format("{} of {} nodes", reporters.size(), nodes)
                           : fmt::format("{}", fmt::join(reporters, ", ")),
                       record.address, record.ssh_port, fmt::join(peer.causes, ", "));
}

} // namespace

Errors fold_unreached(std::vector<JoinFailure> failures, const std::vector<wire::NodeRecord>& records,
                      const std::vector<std::string>& where) {
    Errors errors;
    std::vector<JoinFailure> folded;
    for (auto& failure : failures) {
        if (records.size() <= most_unfolded || failure.unreached.empty()) {
            errors.push_back(std::move(failure.error));
        } else {
            folded.push_back(std::move(failure));
        }
    }
    const auto peers = peers_of(folded);
    const auto others = errors.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (const auto peer = peers.find(records[i].node); peer != peers.end()) {
            errors.push_back({ErrorKind::unreachable, where[i],
                              to_text(peer->second, records[i], records.size()), peer->second.hint});
        }
    }
    if (errors.size() == others) { // what they name is not of the cluster
        std::ranges::transform(folded, std::back_inserter(errors), &JoinFailure::error);
    }
    return errors;
}

} // namespace dockdist
