#include "shared/diagnosis/ras.hpp"

#include "shared/core/number.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/stack_frame.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using RasKind = wire::RasRank::Kind;
using nlohmann::json;

constexpr std::array operations{"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
constexpr std::array errors{"",
                            "unhandled CUDA error",
                            "system error",
                            "internal error",
                            "invalid argument",
                            "invalid usage",
                            "remote process error"};

RasProcess process_of(const wire::RasRank& rank) {
    return {rank.host, rank.pid};
}

std::string word_at(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string()
               ? wire::stack_word(found->get_ref<const std::string&>())
               : "";
}

std::int64_t number_at(const json& object, const char* key, std::int64_t most) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() && found->get<std::int64_t>() >= 0
               ? std::min(found->get<std::int64_t>(), most)
               : 0;
}

bool flag_at(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

const json& object_at(const json& object, const char* key) {
    static const json none = json::object();
    const auto found = object.find(key);
    return found != object.end() && found->is_object() ? *found : none;
}

constexpr std::int64_t most_number = std::numeric_limits<std::int64_t>::max();

// It is said of its count, which may move.
bool counts(const wire::RasRank& rank) {
    return rank.kind == RasKind::behind || rank.kind == RasKind::ahead;
}

// A rank of a communicator, whether it is there or not.
struct Member {
    wire::RasRank rank{};
    bool is_here = false;
    std::array<std::int64_t, operations.size()> counts{};
};

Member member_of(const json& object) {
    const auto& status = object_at(object, "status");
    Member member{.rank = {.rank = static_cast<int>(number_at(object, "rank", wire::max_rank)),
                           .host = word_at(object, "host"),
                           .pid = number_at(object, "pid", most_number)}};
    if (status.contains("unresponsive")) {
        member.rank.kind = flag_at(status, "considered_dead") ? RasKind::dead
                           : flag_at(status, "unresponsive")  ? RasKind::unresponsive
                                                              : RasKind::gone;
        return member;
    }
    member.is_here = true;
    const auto error = static_cast<std::size_t>(
        std::max(number_at(status, "async_error", 7), number_at(status, "init_state", 7) % 7));
    if (error > 0 && error < errors.size()) {
        member.rank.kind = RasKind::failed;
        member.rank.operation = errors.at(error);
    }
    const auto& counts = object_at(object, "collective_counts");
    for (std::size_t i = 0; i < operations.size(); ++i) {
        member.counts.at(i) = number_at(counts, operations.at(i), most_number);
    }
    return member;
}

// Of the communicators of one answer.
class Findings {
public:
    void add(std::string communicator, int size, std::vector<Member> members);
    RasStatus take(std::string version);

private:
    void add_counts(const std::string& communicator, int size, const std::vector<Member>& members,
                    std::size_t operation);

    RasStatus status_{};
    std::set<RasProcess> in_front_{};
};

void Findings::add(std::string communicator, int size, std::vector<Member> members) {
    auto& progress = status_.progress[communicator];
    for (auto& member : members) {
        member.rank.communicator = communicator;
        member.rank.size = size;
        for (const auto count : member.counts) {
            progress += std::to_string(count) + " ";
        }
        if (!member.is_here || member.rank.kind == RasKind::failed) {
            status_.ranks.push_back(member.rank);
        }
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
        add_counts(communicator, size, members, i);
    }
    progress = std::to_string(std::hash<std::string>()(progress));
}

void Findings::add_counts(const std::string& communicator, int size, const std::vector<Member>& members,
                          std::size_t operation) {
    std::map<std::int64_t, std::size_t> ranks; // by their count
    for (const auto& member : members) {
        if (member.is_here) {
            ++ranks[member.counts.at(operation)];
        }
    }
    if (ranks.size() < 2) {
        return;
    }
    const auto most = usual_count(ranks);
    for (const auto& member : members) {
        const auto count = member.counts.at(operation);
        if (member.is_here && count > ranks.begin()->first) {
            in_front_.insert(process_of(member.rank));
        }
        if (member.is_here && count != most) {
            status_.ranks.push_back({.kind = count < most ? RasKind::behind : RasKind::ahead,
                                     .communicator = communicator,
                                     .rank = member.rank.rank,
                                     .size = size,
                                     .host = member.rank.host,
                                     .pid = member.rank.pid,
                                     .operation = operations.at(operation),
                                     .count = count,
                                     .most = most});
        }
    }
}

RasStatus Findings::take(std::string version) {
    keep_roots(status_, in_front_);
    status_.version = std::move(version);
    return std::move(status_);
}

// Of NCCL 2.28.7 and 2.28.9: `"nvml_dev": 0 "status"`.
std::string with_all_commas(std::string_view text) {
    constexpr std::string_view key = "\"status\"";
    std::string whole;
    whole.reserve(text.size() + 64);
    while (true) {
        const auto found = text.find(key);
        const auto before = text.substr(0, std::min(found, text.size()));
        whole += before;
        if (found == std::string_view::npos) {
            return whole;
        }
        const auto last = before.find_last_not_of(" \t\r\n");
        if (last != std::string_view::npos && before[last] >= '0' && before[last] <= '9') {
            whole += ',';
        }
        whole += key;
        text.remove_prefix(found + key.size());
    }
}

Error wrong(std::string message) {
    return {.kind = ErrorKind::protocol, .message = std::move(message)};
}

} // namespace

std::tuple<int, int, std::string, std::string> ras_order(const wire::RasRank& rank) {
    constexpr std::array by_kind{2, 3, 1, 0, 4, 5};
    return {by_kind.at(static_cast<std::size_t>(rank.kind)), rank.rank, rank.communicator, rank.operation};
}

bool RasStatus::differs() const {
    return std::ranges::any_of(ranks, counts);
}

std::int64_t usual_count(const std::map<std::int64_t, std::size_t>& ranks) {
    const auto size_of = [](const auto& each) { return each.second; };
    const auto most = std::ranges::max_element(ranks.rbegin(), ranks.rend(), {}, size_of);
    return most == ranks.rend() ? 0 : most->first;
}

void keep_roots(RasStatus& status, const std::set<RasProcess>& in_front) {
    for (auto& rank : status.ranks) {
        rank.waits = rank.kind == RasKind::behind && in_front.contains(process_of(rank));
    }
    const bool has_root = std::ranges::any_of(
        status.ranks, [](const wire::RasRank& rank) { return rank.kind == RasKind::behind && !rank.waits; });
    if (has_root) {
        std::erase_if(status.ranks, [](const wire::RasRank& rank) { return rank.waits; });
    }
}

// Ranks are taken as they come, so that a job of thousands takes no more than they do.
Result<RasStatus> read_ras_json(std::string_view text) {
    if (text.size() > most_ras_bytes) {
        return wrong("an answer of RAS of more than 64 MiB");
    }
    constexpr int communicator_depth = 2; // of {"communicators": [{
    constexpr int rank_depth = 4;         // … "ranks": [{
    Findings findings;
    std::vector<Member> members;
    const auto take = [&](int depth, json::parse_event_t event, json& value) {
        if (event != json::parse_event_t::object_end) {
            return true;
        }
        if (depth == rank_depth) {
            members.push_back(member_of(value));
        } else if (depth == communicator_depth) {
            findings.add(word_at(value, "hash") + ":" + word_at(value, "secondary_hash"),
                         static_cast<int>(number_at(value, "size", wire::max_rank)),
                         std::exchange(members, {}));
        }
        return depth != rank_depth && depth != communicator_depth;
    };
    const auto root = json::parse(with_all_commas(text), take, false);
    if (root.is_discarded() || !root.is_object() || !root.contains("communicators")) {
        return wrong("RAS answers what is not its JSON");
    }
    return findings.take(word_at(root, "nccl_version"));
}

wire::RasReport report_of(const RasStatus& only) {
    wire::RasReport report{.version = only.version, .ranks = only.ranks};
    std::ranges::sort(report.ranks, {}, ras_order);
    // Who does not answer does so in each of its communicators.
    std::set<std::pair<RasKind, RasProcess>> seen;
    std::erase_if(report.ranks, [&](const wire::RasRank& rank) {
        return !counts(rank) && !seen.insert({rank.kind, process_of(rank)}).second;
    });
    report.ranks.resize(std::min(report.ranks.size(), wire::most_ras_ranks));
    return report;
}

wire::RasReport compare_ras(const RasStatus& first, const RasStatus& later, std::int64_t between_ms) {
    auto standing = later;
    const auto moves = [&](const wire::RasRank& rank) {
        const auto before = first.progress.find(rank.communicator);
        const auto now = later.progress.find(rank.communicator);
        return counts(rank) && (before == first.progress.end() || now == later.progress.end() ||
                                before->second != now->second);
    };
    const bool moved = std::erase_if(standing.ranks, moves) > 0;
    auto report = report_of(standing);
    report.asked_ms = between_ms;
    report.moves = moved;
    return report;
}

} // namespace dockdist
