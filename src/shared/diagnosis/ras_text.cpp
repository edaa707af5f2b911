#include "shared/core/number.hpp"
#include "shared/diagnosis/ras.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/stack_frame.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace dockdist {
namespace {

using RasKind = wire::RasRank::Kind;

constexpr std::size_t most_text_ranks = 4096;

// The number that stands behind `word`.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view word) {
    const auto found = line.find(word);
    if (found == std::string_view::npos) {
        return std::nullopt;
    }
    line.remove_prefix(found + word.size());
    const auto number = whole_number<std::int64_t>(line.substr(0, line.find_first_not_of("0123456789")));
    return number && *number >= 0 ? number : std::nullopt;
}

std::string_view between(std::string_view line, std::string_view begin, std::string_view end) {
    const auto from = line.find(begin);
    if (from == std::string_view::npos) {
        return {};
    }
    line.remove_prefix(from + begin.size());
    return line.substr(0, line.find(end));
}

// "Rank 6 … -- GPU 2 managed by process 411 on node 10.0.0.2".
wire::RasRank rank_in(std::string_view line) {
    return {.rank = static_cast<int>(
                std::min<std::int64_t>(number_after(line, "Rank ").value_or(0), wire::max_rank)),
            .host = wire::stack_word(between(line, " on node ", " ")),
            .pid = number_after(line, "managed by process ").value_or(0)};
}

// The parts "Errors" and "Warnings" of an answer, line by line.
class ErrorLines {
public:
    void read(std::string_view line);
    void end_operation();
    RasStatus take() {
        end_operation();
        keep_roots(status_, in_front_);
        return std::move(status_);
    }

private:
    void begin_communicator(std::string_view line);
    void add(wire::RasRank rank, RasKind kind);

    RasStatus status_{};
    bool deaths_ = false; // processes that are named are dead
    std::set<RasProcess> dead_{};
    std::set<RasProcess> in_front_{};
    std::string communicator_{};
    std::string operation_{};
    std::vector<wire::RasRank> counted_{};          // of this operation
    std::map<std::int64_t, std::size_t> unnamed_{}; // likewise, how many have launched so many
};

void ErrorLines::begin_communicator(std::string_view line) {
    end_operation();
    deaths_ = false;
    communicator_ = wire::stack_word(between(line, "(", ")"));
}

void ErrorLines::add(wire::RasRank rank, RasKind kind) {
    if (status_.ranks.size() < most_text_ranks && !communicator_.empty()) {
        rank.kind = kind;
        rank.communicator = communicator_;
        status_.ranks.push_back(std::move(rank));
    }
}

// Who is named may be ahead: the numbers decide.
void ErrorLines::end_operation() {
    auto counts = std::exchange(unnamed_, {});
    for (const auto& rank : counted_) {
        ++counts[rank.count];
    }
    const auto most = usual_count(counts);
    for (auto& rank : std::exchange(counted_, {})) {
        if (rank.count > counts.begin()->first) {
            in_front_.insert({rank.host, rank.pid});
        }
        if (rank.count != most) {
            rank.most = most;
            rank.operation = operation_;
            const auto kind = rank.count < most ? RasKind::behind : RasKind::ahead;
            add(std::move(rank), kind);
        }
    }
    operation_.clear();
}

void ErrorLines::read(std::string_view line) {
    const auto blanks = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(blanks);
    if (line.starts_with('#')) {
        return begin_communicator(line);
    }
    if (line.starts_with("DEAD")) {
        deaths_ = true;
        return;
    }
    if (deaths_ && line.starts_with("Process ") && dead_.size() < most_text_ranks) {
        dead_.insert(
            {wire::stack_word(between(line, " on node ", " ")), number_after(line, "Process ").value_or(0)});
    }
    if (communicator_.empty() || line.empty()) {
        return;
    }
    status_.progress[communicator_] += std::string(line) + "\n";
    if (line.starts_with("Communicator ranks have different ")) {
        end_operation();
        operation_ = wire::stack_word(between(line, "different ", " operation counts"));
        operation_ = operation_ == "collective" ? "" : operation_; // 2.24: of all together
    } else if (const auto launched = number_after(line, "launched up to operation ");
               launched || line.find("not launched any operations") != std::string_view::npos) {
        if (line.starts_with("Rank ") && counted_.size() < most_text_ranks) {
            counted_.push_back(rank_in(line));
            counted_.back().count = launched.value_or(0);
        } else if (const auto ranks = whole_number<std::uint32_t>(line.substr(0, line.find(' '))); ranks) {
            unnamed_[launched.value_or(0)] += *ranks; // "7 ranks have launched up to operation 1204"
        }
    } else if (line.starts_with("Rank ") && line.find(" reported ") != std::string_view::npos) {
        auto rank = rank_in(line);
        rank.operation = wire::stack_word(between(line, " reported ", " -- "));
        add(std::move(rank), RasKind::failed);
    } else if (line.starts_with("Rank ") && line.find(" -- GPU ") != std::string_view::npos) {
        auto rank = rank_in(line);
        const bool is_dead = dead_.contains({rank.host, rank.pid});
        add(std::move(rank), is_dead ? RasKind::dead : RasKind::unresponsive);
    }
}

} // namespace

Result<RasStatus> read_ras_text(std::string_view text) {
    constexpr std::string_view version = "NCCL version ";
    if (text.size() > most_ras_bytes || !text.starts_with(version)) {
        return Error{.kind = ErrorKind::protocol, .message = "RAS answers what is not its text"};
    }
    ErrorLines lines;
    bool has_begun = false;
    auto rest = text;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        const auto line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (has_begun) {
            lines.read(line);
        }
        has_begun = has_begun || line == "Errors"; // and its warnings: counts that differ are some
    }
    auto status = lines.take();
    status.version = wire::stack_word(between(text, version, " "));
    return status;
}

} // namespace dockdist
