#include "check/engine_row.hpp"

#include "core/timestamp.hpp"
#include "plan/engine_abilities.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Beyond this, logs of two nodes no longer tell what came first, and tokens of registries and trackers fail.
constexpr auto bearable = 2s;

CheckRow failed(const HostSpec& host, const Error& error) {
    return {.state = CheckRow::State::fail,
            .subject = host.name.str(),
            .check = "engine",
            .text = error.message,
            .hint = error.hint};
}

} // namespace

CheckRow judge_clock(const std::string& subject, std::chrono::milliseconds ahead,
                     std::chrono::milliseconds round_trip) {
    CheckRow row{.subject = subject, .check = "clock"};
    const auto off = std::chrono::abs(ahead);
    if (off <= bearable + round_trip / 2) {
        row.text = off <= std::max<std::chrono::milliseconds>(100ms, round_trip)
                       ? "as on this machine"
                       : fmt::format("{:.1f} s {} this machine's", Milliseconds(off).count() / 1000,
                                     ahead > 0ms ? "ahead of" : "behind");
        return row;
    }
    row.state = CheckRow::State::warn;
    row.text = fmt::format("{:.0f} s {} this machine's", Milliseconds(off).count() / 1000,
                           ahead > 0ms ? "ahead of" : "behind");
    row.hint =
        "keep the hosts' clocks by NTP (`timedatectl`); if all hosts differ alike, it is this machine's";
    return row;
}

Task<std::vector<CheckRow>> check_engine(const ClusterSpec& spec, const HostSpec& host,
                                         ContainerEngine& engine) {
    constexpr int tries = 3;
    auto shortest = Clock::duration::max();
    for (int i = 0; i < tries; ++i) {
        const auto begin = Clock::now();
        if (const auto answer = co_await engine.ping(); !answer) {
            co_return std::vector{failed(host, answer.error())};
        }
        shortest = std::min(shortest, Clock::now() - begin);
    }
    const auto asked_at = std::chrono::system_clock::now();
    const auto begin = Clock::now();
    const auto info = co_await engine.info();
    if (!info) {
        co_return std::vector{failed(host, info.error())};
    }
    const auto took = Clock::now() - begin;
    const auto& address = engine.address();
    std::vector<CheckRow> rows{
        {.subject = host.name.str(),
         .check = "engine",
         .text = fmt::format("{}, API {}.{}, {}{}, round trip {:.1f} ms", engine_name(*info), info->api.major,
                             info->api.minor, address.url,
                             address.scheme == EngineAddress::Scheme::tls ? " (TLS)" : "",
                             Milliseconds(shortest).count())}};
    const auto verdict = judge_engine(spec, host, *info);
    const auto add = [&](CheckRow::State state, const EngineRemark& remark) {
        rows.push_back({.state = state,
                        .subject = host.name.str(),
                        .check = "engine",
                        .text = remark.message,
                        .hint = remark.hint});
    };
    for (const auto& remark : verdict.errors) {
        add(CheckRow::State::fail, remark);
    }
    for (const auto& remark : verdict.warnings) {
        add(CheckRow::State::warn, remark);
    }
    if (const auto theirs = parse_timestamp(info->system_time)) {
        const auto ours =
            asked_at + std::chrono::duration_cast<std::chrono::system_clock::duration>(took / 2);
        rows.push_back(judge_clock(host.name.str(),
                                   std::chrono::duration_cast<std::chrono::milliseconds>(*theirs - ours),
                                   std::chrono::duration_cast<std::chrono::milliseconds>(took)));
    }
    co_return rows;
}

} // namespace dockdist
