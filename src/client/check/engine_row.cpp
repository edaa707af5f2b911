#include "client/check/engine_row.hpp"

#include "client/check/compare.hpp"
#include "client/plan/engine_abilities.hpp"
#include "shared/core/text.hpp"
#include "shared/core/timestamp.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Beyond this, logs of two nodes no longer tell what came first, and tokens of registries and trackers fail.
constexpr auto bearable = 2s;

using Version = std::array<int, 3>;
constexpr Version first_without_holes{29, 5, 1};

// "20.10.24+dfsg1", "29.5.1"; nothing for what is no version.
std::optional<Version> version_of(const std::string& text) {
    Version version{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < version.size(); ++i) {
        const auto [stop, error] = std::from_chars(at, end, version.at(i));
        if (error != std::errc{}) {
            return i < 2 ? std::nullopt : std::optional(version);
        }
        at = stop;
        if (at == end || *at != '.') {
            return i < 1 ? std::nullopt : std::optional(version);
        }
        ++at;
    }
    return version;
}

// What every call passes: its administrator may have it refuse some.
std::string guards(const EngineInfo& engine) {
    constexpr std::size_t longest = 100;
    const auto plugins = fmt::format("{}", fmt::join(engine.authorization_plugins, ", "));
    return plugins.empty() ? "" : ", authorization by " + printable(plugins.substr(0, longest));
}

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
    row.hint = "keep the hosts' clocks by NTP (`timedatectl`); if all hosts are off by the same amount, it "
               "is this machine's clock";
    return row;
}

std::vector<CheckRow> judge_security(const std::vector<std::pair<HostName, EngineInfo>>& engines) {
    std::map<std::string, std::vector<std::string>> old; // version, hosts
    std::vector<std::string> hosts;
    bool any = false;
    for (const auto& [host, engine] : engines) {
        const auto version = version_of(engine.version);
        if (engine.podman || !version) {
            continue;
        }
        any = true;
        if (*version < first_without_holes) {
            old[engine.version].push_back(host.str());
            hosts.push_back(host.str());
        }
    }
    if (!any) {
        return {};
    }
    CheckRow row{.subject = engines.size() > 1 ? "all hosts" : engines.front().first.str(),
                 .check = "security",
                 .text = "no engine with known holes"};
    if (!old.empty()) {
        std::string text;
        for (const auto& [version, there] : old) {
            text += fmt::format("{}Engine {}", text.empty() ? "" : ", ", printable(version));
            text += old.size() > 1 ? fmt::format(" ({})", list_names(there)) : "";
        }
        row.state = CheckRow::State::warn;
        row.subject = hosts.size() == engines.size() && hosts.size() > 1 ? "all hosts" : list_names(hosts);
        row.text = text + (hosts.size() == 1 ? " has" : " have") + " known security holes";
        row.hint = "upgrade Docker there to 29.5.1 or newer";
    }
    return {row};
}

Task<EngineFinding> check_engine(const ClusterSpec& spec, const HostSpec& host, ContainerEngine& engine) {
    constexpr int tries = 3;
    auto shortest = Clock::duration::max();
    for (int i = 0; i < tries; ++i) {
        const auto begin = Clock::now();
        if (const auto answer = co_await engine.ping(); !answer) {
            co_return EngineFinding{.rows = {failed(host, answer.error())}};
        }
        shortest = std::min(shortest, Clock::now() - begin);
    }
    const auto asked_at = std::chrono::system_clock::now();
    const auto begin = Clock::now();
    const auto info = co_await engine.info();
    if (!info) {
        co_return EngineFinding{.rows = {failed(host, info.error())}};
    }
    const auto took = Clock::now() - begin;
    const auto& address = engine.address();
    std::vector<CheckRow> rows{
        {.subject = host.name.str(),
         .check = "engine",
         .text = fmt::format("{}, API {}.{}, {}{}{}{}, round trip {:.1f} ms", engine_name(*info),
                             info->api.major, info->api.minor, address.url,
                             address.scheme == EngineAddress::Scheme::tls ? " (TLS)" : "",
                             engine.way().empty() ? "" : " by " + printable(engine.way()), guards(*info),
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
    co_return EngineFinding{.rows = std::move(rows), .info = *info};
}

} // namespace dockdist
