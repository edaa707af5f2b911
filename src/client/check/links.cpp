#include "client/check/links.hpp"

#include "client/async/run_all.hpp"
#include "client/report/step.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/measurement/pair_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr int streams = 4; // one alone does not fill a fast link
constexpr auto measured_for = 2000ms;
constexpr std::size_t met_a_round = 16;

CheckRow not_tried(const NodeSession& session, const Error& error) {
    return {.state = CheckRow::State::fail,
            .layer = CheckLayer::network,
            .subject = session.node().name.str(),
            .check = "ports",
            .text = "could not be tried: " + printable(error.message),
            .hint = printable(error.hint)};
}

Task<PathBandwidth> send(NodeSession& session, std::size_t from, std::size_t to, wire::LinksSend question) {
    const auto sent = co_await session.ask(std::move(question), measured_for + 10s);
    PathBandwidth path{.from = from, .to = to};
    if (sent) {
        path.bytes_per_second = sent->bytes_per_second;
        path.segments = sent->segments;
        path.sent_again = sent->sent_again;
    } else {
        path.problem = printable(sent.error().message);
    }
    co_return path;
}

} // namespace

Links::Links(std::vector<NodeSession*> sessions)
    : sessions_(std::move(sessions)), token_(random_hex(32)), ports_(sessions_.size()) {}

Task<bool> Links::listen(std::size_t node, CheckReport& report) {
    auto& session = *sessions_[node];
    const auto answer = co_await session.ask(wire::LinksListen{.token = token_});
    if (answer) {
        ports_[node] = answer->port;
    } else {
        report.rows.push_back(not_tried(session, answer.error()));
    }
    co_return ports_[node].has_value();
}

Task<void> Links::meet_round(const PeerRound& round, std::vector<PathAnswer>& paths, CheckReport& report) {
    std::vector<Task<Result<wire::LinksMeet::Answer>>> meetings;
    std::vector<std::size_t> askers;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        wire::LinksMeet question{.token = token_};
        for (const auto peer : round[i]) {
            if (ports_[i] && ports_[peer]) {
                const auto& node = sessions_[peer]->node();
                question.peers.push_back(
                    {.node = node.name.str(), .address = node.record.address, .port = *ports_[peer]});
            }
        }
        if (!question.peers.empty()) {
            askers.push_back(i);
            meetings.push_back(sessions_[i]->ask(std::move(question), 60s));
        }
    }
    if (meetings.empty()) {
        co_return;
    }
    const auto answers = co_await run_all(std::move(meetings));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i]) {
            std::ranges::copy(paths_from(askers[i], answers[i]->links, report.nodes),
                              std::back_inserter(paths));
        } else {
            report.rows.push_back(not_tried(*sessions_[askers[i]], answers[i].error()));
            ports_[askers[i]].reset(); // no more of it
        }
    }
}

Task<void> Links::meet(CheckReport& report, bool every_other) {
    std::vector<Task<bool>> listening;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        if (sessions_[i] != nullptr) {
            listening.push_back(listen(i, report));
        }
    }
    if (listening.size() < 2) {
        co_return;
    }
    co_await run_all(std::move(listening));
    PeerRound quick;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        quick.push_back(quick_peers(i, sessions_.size()));
    }
    std::vector<PathAnswer> paths;
    co_await meet_round(quick, paths, report);
    if (every_other) {
        for (const auto& round : further_rounds(sessions_.size(), met_a_round)) {
            co_await meet_round(round, paths, report);
        }
    }
    std::ranges::sort(paths, {}, [](const PathAnswer& path) { return std::pair(path.from, path.to); });
    std::ranges::move(judge_paths(report.nodes, paths), std::back_inserter(report.rows));
    for (const auto& path : paths) {
        report.links.push_back({.from = path.from, .to = path.to, .latency_us = path.latency_us});
    }
}

Task<void> Links::measure(Reporter& reporter, CheckReport& report) {
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        if (ports_[i]) {
            nodes.push_back(i);
        }
    }
    const auto rounds = pair_rounds(nodes.size());
    if (rounds.empty()) {
        co_return;
    }
    Step step(reporter, "links", "all nodes", "measure TCP bandwidth");
    std::vector<PathBandwidth> paths;
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        step.progress(fmt::format("measure TCP bandwidth, round {} of {}", round + 1, rounds.size()), {}, {});
        std::vector<Task<PathBandwidth>> sends;
        for (const auto& [first, second] : rounds[round]) {
            for (const auto& [from, to] :
                 {Pair(nodes[first], nodes[second]), Pair(nodes[second], nodes[first])}) {
                sends.push_back(send(*sessions_[from], from, to,
                                     {.token = token_,
                                      .peer = {.node = sessions_[to]->node().name.str(),
                                               .address = sessions_[to]->node().record.address,
                                               .port = *ports_[to]},
                                      .streams = streams,
                                      .ms = measured_for.count()}));
            }
        }
        std::ranges::move(co_await run_all(std::move(sends)), std::back_inserter(paths));
    }
    step.finished("TCP bandwidth measured");
    std::ranges::sort(paths, {}, [](const PathBandwidth& path) { return std::pair(path.from, path.to); });
    std::ranges::move(judge_bandwidths(report.nodes, paths), std::back_inserter(report.rows));
    const auto slow = slow_paths(report.nodes.size(), paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto link = std::ranges::find_if(report.links, [&](const LinkMeasurement& measurement) {
            return measurement.from == paths[i].from && measurement.to == paths[i].to;
        });
        if (link != report.links.end() && paths[i].problem.empty()) {
            link->bandwidth = paths[i].bytes_per_second;
            link->slow = slow[i];
        }
    }
}

} // namespace dockdist
