#include "check/peers.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {

std::vector<PeerAnswer> parse_peers(std::string_view lines) {
    std::vector<PeerAnswer> peers;
    for (const auto& line : split(lines, '\n')) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        if (!json.is_object() || !json.contains("peer") || !json["peer"].is_string()) {
            continue;
        }
        PeerAnswer answer{.peer = json["peer"].get<std::string>()};
        answer.ok = json.contains("ok") && json["ok"].is_boolean() && json["ok"].get<bool>();
        answer.ms = json.contains("ms") && json["ms"].is_number_integer() ? json["ms"].get<int>() : 0;
        if (json.contains("message") && json["message"].is_string()) {
            answer.message = json["message"].get<std::string>();
        }
        peers.push_back(std::move(answer));
    }
    return peers;
}

void judge_peers(const std::vector<PeerAnswer>& peers, CheckRow& row) {
    std::string failed;
    int slowest = 0;
    for (const auto& peer : peers) {
        if (peer.ok) {
            slowest = std::max(slowest, peer.ms);
        } else {
            failed += (failed.empty() ? "" : "; ") + printable(peer.peer) + ": " + printable(peer.message);
        }
    }
    if (!failed.empty()) {
        row.state = CheckRow::State::fail;
        row.text = "no login to " + failed;
        row.hint = "does a firewall between the hosts stop the ssh port? if not, run `dockdist up` to join "
                   "the nodes again";
    } else if (peers.empty()) {
        row.text = "no other node";
    } else {
        row.text = fmt::format("logs in to {} other node{}, slowest {} ms", peers.size(),
                               peers.size() == 1 ? "" : "s", slowest);
    }
}

} // namespace dockdist
