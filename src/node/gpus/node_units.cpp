#include "node/gpus/node_units.hpp"

#include "shared/core/counted.hpp"

#include <algorithm>
#include <cmath>

namespace dockdist::node {
namespace {

std::string names_of(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    }
    return list;
}

} // namespace

bool wants_units(const GpuRequest& request) {
    const bool shows_none = request.visible && (request.visible->empty() || *request.visible == "-1");
    return !request.ask.share && request.ask.count != 0 && !shows_none;
}

std::string used_text(const UnitState& state) {
    return std::to_string(std::llround(state.used_mib.value_or(0))) + " MiB in use";
}

void NodeUnits::mean(const std::vector<wire::GpuUnit>& all) {
    meant_ = all;
    if (request_.visible && !all.empty() && !is_slot(all.front())) {
        auto named = named_units(*request_.visible, all);
        meant_ = std::move(named.units);
        if (!named.unknown.empty()) {
            left_out_.push_back(request_.variable + " names " + named.unknown +
                                ", which this node does not have");
        } else if (!named.repeated.empty()) {
            left_out_.push_back(request_.variable + " names a GPU twice (" + named.repeated +
                                (meant_.empty() ? "), and CUDA shows none then" : "), and ends there"));
        }
    }
    const auto count = static_cast<int>(meant_.size());
    const bool all_of_them = request_.visible || request_.ask.count == wire::all_units;
    wanted_ = all_of_them ? count : std::min(count, request_.ask.count);
}

Status NodeUnits::see(std::vector<UnitState> states) {
    states_ = std::move(states);
    std::vector<wire::GpuUnit> all;
    for (const auto& state : states_) {
        all.push_back(state.unit);
    }
    left_out_.clear();
    const bool has_gpus = !all.empty() && !is_slot(all.front());
    if (has_gpus && !request_.visible && request_.ask.count > static_cast<int>(all.size())) {
        return Error{.kind = ErrorKind::config,
                     .message = counted(request_.ask.count, "GPU") + " are asked for, and this node has " +
                                std::to_string(all.size()),
                     .hint = "`--gpus " + std::to_string(all.size()) + "` takes all of them"};
    }
    mean(all);
    sound_.clear();
    std::vector<std::string> problems;
    for (const auto& unit : meant_) {
        const auto state = std::ranges::find(states_, unit, &UnitState::unit);
        if (state->problem.empty()) {
            sound_.push_back(unit);
        } else if (std::ranges::find(problems, state->problem) == problems.end()) {
            problems.push_back(state->problem);
        }
    }
    left_out_.insert(left_out_.end(), problems.begin(), problems.end());
    if (static_cast<int>(sound_.size()) < wanted_) {
        return Error{.kind = ErrorKind::node,
                     .message = std::to_string(sound_.size()) + " of the " + counted(wanted_, "GPU") +
                                " that this job wants here can be given out: " + names_of(problems),
                     .hint = (sound_.empty() || request_.visible
                                  ? std::string()
                                  : "`--gpus " + std::to_string(sound_.size()) + "` does with these; ") +
                             "`--share` takes them as they are"};
    }
    return ok;
}

void NodeUnits::see_use(const Board& before, const Board& after) {
    outside_.clear();
    for (const auto& state : states_) {
        if (state.used_mib.value_or(0) > static_cast<double>(request_.ask.in_use_mib) &&
            holder_of(before.entries, state.unit.id) == nullptr &&
            holder_of(after.entries, state.unit.id) == nullptr) {
            outside_.insert(state.unit.id);
        }
    }
}

BoardEntry NodeUnits::ticket() const {
    BoardEntry entry{.who = request_.who, .wanted = wanted_, .priority = request_.ask.priority};
    for (const auto& unit : sound_) {
        entry.candidates.push_back(unit.id);
    }
    return entry;
}

Board NodeUnits::with_the_unknown(Board board, const BoardEntry& own, const BoardFile& file) const {
    for (const auto& taken : request_.ask.taken) {
        board.entries.push_back({.who = taken.by, .units = {taken.unit}});
    }
    for (const auto& unit : sound_) {
        if (holder_of(board.entries, unit.id) == nullptr && !holds(own, unit.id) &&
            file.unit_is_locked(unit.id)) {
            board.entries.push_back({.units = {unit}});
        }
    }
    return board;
}

void NodeUnits::add_outside(Board& board) const {
    for (const auto& state : states_) {
        if (outside_.contains(state.unit.id) && holder_of(board.entries, state.unit.id) == nullptr) {
            board.entries.push_back({.who = {.job = used_text(state)}, .units = {state.unit}});
        }
    }
}

wire::GpuHold NodeUnits::hold_of(const wire::GpuUnit& unit, const BoardEntry& holder) const {
    wire::GpuHold hold{.unit = unit, .by = holder.id != 0 ? party_of(holder, unix_ms()) : holder.who};
    hold.outside = holder.id == 0 && holder.who.cluster.empty() && !holder.who.job.empty();
    return hold;
}

Standing NodeUnits::stand(const Board& board, const BoardEntry& own, const BoardFile& file) const {
    Standing standing;
    auto all = with_the_unknown(board, own, file);
    standing.fits_but_for_outside = decide(all, own).fits;
    add_outside(all);
    const auto verdict = decide(all, own);
    standing.fits = verdict.fits;
    standing.place = verdict.place;
    standing.own_rivals = verdict.own_rivals;
    for (const auto& unit : sound_) {
        if (std::ranges::find(verdict.free, unit.id) != verdict.free.end()) {
            standing.free.push_back(unit);
        }
        const auto holder = std::ranges::find_if(
            verdict.holders, [&](const BoardEntry* entry) { return holds(*entry, unit.id); });
        if (holder != verdict.holders.end()) {
            standing.held.push_back(hold_of(unit, **holder));
        }
    }
    for (const auto* ticket : verdict.ahead) {
        if (standing.ahead.size() == wire::most_ahead) {
            break;
        }
        standing.ahead.push_back(
            {.who = party_of(*ticket, unix_ms()), .wanted = ticket->wanted, .priority = ticket->priority});
    }
    return standing;
}

ChosenUnits NodeUnits::choose(const Standing& standing) const {
    return choose_units(static_cast<std::size_t>(wanted_), standing.free, topology_);
}

Error NodeUnits::too_many_on_one_host(const std::vector<std::string>& own_rivals) const {
    auto nodes = own_rivals;
    nodes.push_back(request_.who.node);
    std::ranges::sort(nodes);
    return Error{.kind = ErrorKind::config,
                 .message = "the nodes " + names_of(nodes) +
                            " see the same GPUs of one host, and this job wants more of them for all its "
                            "parts than there are",
                 .hint = "give each node GPUs of its own (`gpus:` of the host), ask for fewer with "
                         "`--gpus N`, or take them together with `--share`"};
}

} // namespace dockdist::node
