// JobStateMachine's suspicion: a job in which nothing moves is looked at, and why it hangs is told where that
// is sure.
#include "shared/core/exit_codes.hpp"
#include "shared/diagnosis/verdict.hpp"
#include "shared/job_state/job_state_machine.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

constexpr std::int64_t longest_look_ms = 60'000;
constexpr int looks_in_a_row = 4;              // while something might become sure
constexpr std::int64_t first_rest_ms = 60'000; // between looks that find nothing; doubles
constexpr std::int64_t longest_rest_ms = 600'000;

std::vector<wire::StackFrame> place_in(const wire::RankStack& stack) {
    const auto* const main = wire::main_thread(stack.threads, stack.pid);
    return main == nullptr ? std::vector<wire::StackFrame>() : main->frames;
}

bool is_same(const wire::Hang& one, const wire::Hang& other) {
    return one.cause == other.cause && one.node == other.node && one.rank == other.rank &&
           one.where == other.where;
}

} // namespace

void JobStateMachine::still(std::size_t part, int attempt) {
    if (speaks_of_now(attempt) && !is_spare(part)) {
        parts_[part].still = true;
        suspicion_.next_ms = suspicion_.looks = 0;
        suspicion_.rest_ms = first_rest_ms;
    }
}

void JobStateMachine::goes_on(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].still = false;
        suspicion_.is_over = true;
    }
}

void JobStateMachine::examined(std::size_t part, int attempt, std::vector<wire::RankStack> ranks,
                               wire::RasReport ras, wire::NodeLook node) {
    if (speaks_of_now(attempt)) {
        parts_[part].examined = true;
        parts_[part].looks = std::move(ranks);
        parts_[part].ras = std::move(ras);
        parts_[part].node = std::move(node);
    }
}

bool JobStateMachine::is_suspected() const {
    bool some = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        some = some || runs(i);
    }
    return settings_.suspect_ms > 0 && some && all_running(&Part::still);
}

std::optional<std::int64_t> JobStateMachine::look_at_ms() const {
    if (!is_suspected()) {
        return std::nullopt;
    }
    return suspicion_.until_ms ? suspicion_.until_ms : suspicion_.next_ms;
}

std::vector<JobStateMachine::Order> JobStateMachine::watch_hang(std::int64_t now_ms) {
    if (std::exchange(suspicion_.is_over, false)) {
        const auto told = std::exchange(suspicion_, {}).told;
        if (told) {
            note(Notice::Kind::stalled, "", "the job goes on: what was said of its hang holds no more");
            return tell_all({.type = wire::JobCommand::Type::hang,
                             .attempt = attempt_,
                             .hang = wire::Hang{.attempt = attempt_}});
        }
    }
    if (!is_suspected()) {
        return {};
    }
    if (suspicion_.until_ms) {
        const bool all = all_running(&Part::examined);
        return all || now_ms >= *suspicion_.until_ms ? conclude(all, now_ms) : std::vector<Order>();
    }
    if (now_ms < suspicion_.next_ms) {
        return {};
    }
    suspicion_.until_ms = now_ms + longest_look_ms;
    std::vector<Order> orders;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        parts_[i].examined = false;
        parts_[i].looks.clear();
        parts_[i].ras = {};
        parts_[i].node = {.addresses = std::move(parts_[i].node.addresses)};
        if (runs(i)) {
            orders.push_back({i,
                              {.type = wire::JobCommand::Type::examine,
                               .attempt = attempt_,
                               .pause_ms = settings_.suspect_ms / 3}});
        }
    }
    orders[suspicion_.asks_ras % orders.size()].command.asks_ras = true;
    return orders;
}

// One is asked for the whole job, the next one where it says nothing. What it has said at the look before,
// too, has been so since then.
std::vector<wire::RasReport> JobStateMachine::heard_of_ras(std::int64_t now_ms) {
    std::vector<wire::RasReport> reports;
    for (const auto& part : parts_) {
        if (!part.ras.version.empty()) {
            reports.push_back(part.ras);
        }
    }
    if (reports.empty()) {
        ++suspicion_.asks_ras;
        suspicion_.ras.clear();
        return reports;
    }
    auto& heard = reports.front();
    if (heard.ranks != suspicion_.ras) {
        suspicion_.ras = heard.ranks;
        suspicion_.ras_since_ms = now_ms - heard.asked_ms;
    }
    heard.asked_ms = std::max(heard.asked_ms, now_ms - suspicion_.ras_since_ms);
    return reports;
}

// Loopback, which all have, is that of whoever was asked.
std::map<std::string, std::string> JobStateMachine::nodes_by_address() const {
    std::map<std::string, std::string> nodes;
    for (const bool asked : {true, false}) {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            for (const auto& address : parts_[i].node.addresses) {
                if (asked != parts_[i].ras.version.empty()) {
                    nodes.emplace(address, settings_.parts[i].node);
                }
            }
        }
    }
    return nodes;
}

// Of all parts, with those ranks whose part has ended already.
std::vector<JobStateMachine::Looked> JobStateMachine::looked_at() const {
    std::vector<Looked> all;
    const auto commands = wire::command_ranks(settings_);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto command = commands.find(settings_.parts[i].node);
        const auto own = command == commands.end() ? -1 : command->second;
        for (auto stack : parts_[i].looks) {
            stack.rank = stack.rank < 0 ? own : stack.rank;
            all.push_back({i, std::move(stack)});
        }
        if (!parts_[i].ended || is_spare(i) || settings_.parts[i].lost) {
            continue;
        }
        auto numbers = parts_[i].rank_numbers;
        if (numbers.empty() && own >= 0) {
            numbers.push_back(own);
        }
        for (const auto rank : numbers) {
            all.push_back({i, {.rank = rank, .state = wire::RankStack::State::ended}});
        }
    }
    return all;
}

// By what only some have told nobody is judged.
std::vector<JobStateMachine::Order> JobStateMachine::conclude(bool all, std::int64_t now_ms) {
    suspicion_.until_ms.reset();
    ++suspicion_.looks;
    const auto looked = all ? looked_at() : std::vector<Looked>();
    HangEvidence evidence{
        .writes_ms = settings_.suspect_ms, .ras = heard_of_ras(now_ms), .nodes = nodes_by_address()};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto& look = parts_[i].node;
        if (!look.gpu_faults.empty()) {
            evidence.gpu_faults[settings_.parts[i].node] = look.gpu_faults;
        }
        if (!look.unanswered.empty()) {
            evidence.unanswered[settings_.parts[i].node] = look.unanswered;
        }
    }
    std::map<std::pair<std::size_t, int>, Standing> places;
    for (const auto& each : looked) {
        const std::pair key(each.part, each.stack.rank);
        Standing standing{.frames = place_in(each.stack),
                          .since_ms = each.stack.moves ? now_ms : now_ms - settings_.suspect_ms / 3};
        const auto before = suspicion_.places.find(key);
        if (before != suspicion_.places.end() && !each.stack.moves &&
            before->second.frames == standing.frames) {
            standing.since_ms = before->second.since_ms;
        }
        evidence.ranks.push_back({settings_.parts[each.part].node, &each.stack, now_ms - standing.since_ms});
        places[key] = std::move(standing);
    }
    suspicion_.places = std::move(places);
    const auto verdict = judge(evidence);
    const bool may_become = verdict.kind != HangVerdict::Kind::none && !verdict.sure;
    if (may_become && suspicion_.looks < looks_in_a_row) {
        suspicion_.next_ms = now_ms;
        return {};
    }
    suspicion_.next_ms = now_ms + suspicion_.rest_ms;
    suspicion_.rest_ms = std::min(2 * suspicion_.rest_ms, longest_rest_ms);
    if (!verdict.sure) {
        return {};
    }
    const auto hang = hang_of(verdict, evidence, attempt_);
    if (suspicion_.told && is_same(*suspicion_.told, hang)) {
        return {};
    }
    suspicion_.told = hang;
    for (const auto& line : hang_lines(hang)) {
        note(Notice::Kind::stalled, "", line);
    }
    auto orders = tell_all({.type = wire::JobCommand::Type::hang, .attempt = attempt_, .hang = hang});
    if (settings_.stop_hung) {
        act_on(hang, verdict.ranks.empty() ? std::nullopt : std::optional(looked[verdict.ranks.front()].part),
               now_ms, orders);
    }
    return orders;
}

// Where a restart helps, the node at fault is passed over if another one is spare; where it does not, the job
// ends. Whoever carries the job from one of its nodes cannot leave that.
void JobStateMachine::act_on(const wire::Hang& hang, std::optional<std::size_t> part, std::int64_t now_ms,
                             std::vector<Order>& orders) {
    hopeless_ = hang.restart_helps == "no";
    if (!hopeless_ && part && *part != coordinator() && may_restart() && first_spare() &&
        !settings_.relaunch.empty()) {
        orders.push_back({*part, {.type = wire::JobCommand::Type::stop, .grace_ms = settings_.grace_ms}});
        (void)lost(*part, "the job hangs for it", now_ms);
        return;
    }
    fail(part.value_or(0),
         {.code = exit_codes::timed_out,
          .advice = hang.hint,
          .finding = "the job hangs: " + hang.text +
                     (hopeless_ && attempt_ < settings_.max_restarts ? " (a restart does not help)" : "")});
}

} // namespace dockdist
