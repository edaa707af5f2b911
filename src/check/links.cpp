#include "check/links.hpp"

#include "async/run_all.hpp"
#include "check/link_rows.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "metrics/pair_rounds.hpp"
#include "report/step.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr int streams = 4; // one alone does not fill a fast link
constexpr auto measured_for = 2000ms;

CheckRow not_tried(const NodeSession& session, const Error& error) {
    return {.state = CheckRow::State::fail,
            .layer = CheckLayer::network,
            .subject = session.node().name.str(),
            .check = "ports",
            .text = "could not be tried: " + printable(error.message),
            .hint = printable(error.hint)};
}

PathBandwidth read_bandwidth(std::size_t from, std::size_t to, const Result<wire::CheckAnswer>& answer) {
    PathBandwidth path{.from = from, .to = to};
    if (!answer) {
        path.problem = printable(answer.error().message);
        return path;
    }
    const auto number = [&](const char* key) {
        const auto value = answer->body.find(key);
        return value != answer->body.end() && value->is_number() ? value->get<double>() : 0;
    };
    path.bytes_per_second = number("bytes_per_second");
    path.segments = static_cast<std::uint64_t>(number("segments"));
    path.sent_again = static_cast<std::uint64_t>(number("sent_again"));
    return path;
}

Task<PathBandwidth> send(NodeSession& session, std::size_t from, std::size_t to, json question) {
    const auto answer = co_await session.ask("links-send", std::move(question), measured_for + 10s);
    co_return read_bandwidth(from, to, answer);
}

} // namespace

Links::Links(std::vector<NodeSession*> sessions)
    : sessions_(std::move(sessions)), token_(random_hex(32)), ports_(sessions_.size()) {}

Task<bool> Links::listen(std::size_t node, CheckReport& report) {
    auto& session = *sessions_[node];
    const auto answer = co_await session.ask("links-listen", {{"token", token_}});
    const auto port = answer ? answer->body.find("port") : json::const_iterator{};
    if (!answer) {
        report.rows.push_back(not_tried(session, answer.error()));
    } else if (port != answer->body.end() && port->is_number_integer()) {
        ports_[node] = port->get<int>();
    } else {
        report.rows.push_back(
            not_tried(session, Error{.kind = ErrorKind::protocol, .message = "the node named no port"}));
    }
    co_return ports_[node].has_value();
}

Task<void> Links::meet(CheckReport& report) {
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
    std::vector<Task<Result<wire::CheckAnswer>>> meetings;
    std::vector<std::size_t> askers;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        auto peers = json::array();
        // Each begins with its next neighbour: not all meet the first one at once.
        for (std::size_t step = 1; step < sessions_.size(); ++step) {
            const auto peer = (i + step) % sessions_.size();
            if (ports_[i] && ports_[peer]) {
                const auto& node = sessions_[peer]->node();
                peers.push_back(
                    {{"node", node.name.str()}, {"address", node.record.address}, {"port", *ports_[peer]}});
            }
        }
        if (!peers.empty()) {
            askers.push_back(i);
            meetings.push_back(
                sessions_[i]->ask("links-meet", {{"token", token_}, {"peers", std::move(peers)}}, 60s));
        }
    }
    const auto answers = co_await run_all(std::move(meetings));
    std::vector<PathAnswer> paths;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i]) {
            std::ranges::copy(read_paths(answers[i]->body, askers[i], report.nodes),
                              std::back_inserter(paths));
        } else {
            report.rows.push_back(not_tried(*sessions_[askers[i]], answers[i].error()));
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
                                     {{"token", token_},
                                      {"address", sessions_[to]->node().record.address},
                                      {"port", *ports_[to]},
                                      {"streams", streams},
                                      {"ms", measured_for.count()}}));
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
