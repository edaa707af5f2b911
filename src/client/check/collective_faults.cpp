#include "client/check/collective_rows.hpp"
#include "client/check/probe_text.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {
namespace {

// Why a rank did not get to its end, from what is certainly its own fault to what may be everybody's.
enum class Cause { none, own, peer, late };

struct Fault {
    Cause cause = Cause::none;
    std::string message{}, hint{};
    bool missing_nccl = false;
};

constexpr auto late_hint =
    "all ranks waited for each other: the earlier stages show which node it is. Look for a hanging GPU "
    "(`nvidia-smi`, `dmesg`: Xid), and for a firewall between NCCL's ports";

Fault ended_without_a_word(const wire::ProbeEnd& end) {
    Fault fault{.cause = Cause::own, .message = printable(end.message), .hint = printable(end.hint)};
    if (end.signal != 0) {
        fault.message = fmt::format("its process was killed by signal {}{}{}", end.signal,
                                    fault.message.empty() ? "" : ": ", fault.message);
        fault.hint = end.signal == 9 ? "was it the kernel, out of memory (`dmesg` on the host), or a person?"
                                     : "CUDA, NCCL or the driver crashed: see `dmesg` on the host";
    } else if (fault.message.empty()) {
        fault.message = fmt::format("dockdist-probe ended with {} and without a result", end.code);
    }
    return fault;
}

Fault fault_of(const ProbeRank& rank) {
    const bool has_result = rank.result.is_object();
    if (rank.end && !has_result && (rank.end->signal != 0 || rank.end->code != 0)) {
        return ended_without_a_word(*rank.end);
    }
    if (!has_result) {
        return rank.end ? Fault{}
                        : Fault{.cause = Cause::late, .message = "no word from its probe", .hint = late_hint};
    }
    const auto error = error_of(rank);
    if (error.message.empty() || wrong_elements(rank) != 0) {
        return {};
    }
    Fault fault{.cause = Cause::own, .message = error.message, .hint = error.hint};
    if (error.kind == ErrorKind::timeout) {
        fault.cause = Cause::late;
        fault.hint = late_hint;
    } else if (error.kind == ErrorKind::interrupted || error.message.find("(NCCL 6)") != std::string::npos) {
        fault.cause = Cause::peer; // ended by dockdist after another's failure, or ncclRemoteError
    }
    fault.missing_nccl =
        error.kind == ErrorKind::not_found && error.message.find("libnccl") != std::string::npos;
    return fault;
}

CheckRow row(CheckRow::State state, std::string subject, std::string text, std::string hint) {
    return {.state = state,
            .layer = CheckLayer::collective,
            .subject = std::move(subject),
            .check = "nccl",
            .text = std::move(text),
            .hint = std::move(hint)};
}

// "node-0 GPU 0, 1; node-1 GPU 0"; where all ranks of all nodes share it, the nodes alone.
struct Place {
    const std::vector<NodeName>& nodes;
    std::map<std::size_t, std::vector<int>> gpus{};

    std::string subject() const {
        std::string text;
        for (const auto& [node, ignored] : gpus) {
            text += (text.empty() ? "" : ", ") + nodes[node].str();
        }
        return text;
    }
    std::string words() const {
        std::string text;
        for (const auto& [node, numbers] : gpus) {
            text += text.empty() ? "" : "; ";
            text += gpus.size() > 1 ? nodes[node].str() + " GPU " : "GPU ";
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
            }
        }
        return text;
    }
};

void add_wrong_rows(const std::vector<NodeName>& nodes, std::string_view stage, const ProbeWorld& world,
                    std::vector<CheckRow>& rows) {
    for (const auto& rank : world.ranks) {
        if (const auto wrong = wrong_elements(rank); wrong != 0) {
            const auto error = error_of(rank);
            rows.push_back(
                row(CheckRow::State::fail, nodes[rank.place].str(),
                    fmt::format("{}: GPU {} got wrong results: {}", stage, rank.local_rank,
                                error.message.empty() ? fmt::format("{} elements", wrong) : error.message),
                    error.hint));
        }
    }
}

} // namespace

std::vector<CheckRow> judge_faults(const std::vector<NodeName>& nodes, std::string_view stage,
                                   const ProbeWorld& world) {
    std::vector<CheckRow> rows;
    add_wrong_rows(nodes, stage, world, rows);
    std::vector<Fault> faults;
    auto first = Cause::none;
    for (const auto& rank : world.ranks) {
        const auto& fault = faults.emplace_back(fault_of(rank));
        if (fault.cause != Cause::none && (first == Cause::none || fault.cause < first)) {
            first = fault.cause;
        }
    }
    for (const auto& error : world.errors) {
        rows.push_back(row(CheckRow::State::fail, error.where.empty() ? "all nodes" : error.where,
                           fmt::format("{}: {}", stage, printable(error.message)), printable(error.hint)));
    }
    // Where the way to a node broke, the others only saw it end.
    if (first == Cause::none || (!world.errors.empty() && first != Cause::own)) {
        return rows;
    }
    struct Same {
        Place place;
        Fault fault{};
    };
    std::vector<Same> told;
    for (std::size_t i = 0; i < faults.size(); ++i) {
        if (faults[i].cause != first) {
            continue;
        }
        const auto& rank = world.ranks[i];
        auto same = std::ranges::find_if(
            told, [&](const Same& one) { return one.fault.message == faults[i].message; });
        if (same == told.end()) {
            told.push_back({.place = {.nodes = nodes}, .fault = faults[i]});
            same = told.end() - 1;
        }
        same->place.gpus[rank.place].push_back(rank.local_rank);
    }
    for (auto& one : told) {
        rows.push_back(
            row(one.fault.missing_nccl ? CheckRow::State::warn : CheckRow::State::fail, one.place.subject(),
                fmt::format("{}: {}: {}", stage, one.place.words(), one.fault.message), one.fault.hint));
    }
    return rows;
}

std::vector<CheckRow> join_alike(const std::vector<NodeName>& nodes, std::vector<CheckRow> rows) {
    struct Joined {
        CheckRow row{};
        std::size_t count = 1;
    };
    std::vector<Joined> joined;
    for (auto& row : rows) {
        const auto same = std::ranges::find_if(joined, [&](const Joined& one) {
            return one.row.state == row.state && one.row.check == row.check && one.row.text == row.text &&
                   one.row.hint == row.hint;
        });
        if (same == joined.end()) {
            joined.push_back({.row = std::move(row)});
        } else {
            same->row.subject += ", " + row.subject;
            ++same->count;
        }
    }
    std::vector<CheckRow> result;
    for (auto& one : joined) {
        if (one.count > 1 && one.count == nodes.size()) {
            one.row.subject = "all nodes";
        }
        result.push_back(std::move(one.row));
    }
    return result;
}

} // namespace dockdist
