#include "node/gpus/session_units.hpp"

#include "node/gpus/reservation.hpp"
#include "node/system/gpus.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/fields.hpp"

#include <unistd.h>

namespace dockdist::node {
namespace {

using State = wire::GpuTurn::State;

Result<wire::GpuAsk> read_ask(const std::string& text) {
    if (const auto count = whole_number<int>(text); count && *count >= wire::all_units) {
        return wire::GpuAsk{.count = *count};
    }
    return wire::parse<wire::GpuAsk>(text, "what --gpus asks for");
}

std::string party_text(const wire::GpuParty& party) {
    const auto name = party.job.empty() ? std::string("an unknown job") : party.job;
    return printable(name + " (" + (party.owner.empty() ? party.node : party.owner) + ", ") +
           format_age(std::chrono::seconds(party.age_s)) + ")";
}

std::string hold_text(const wire::GpuHold& hold) {
    return unit_name(hold.unit) + " " +
           (hold.outside ? "a process outside dockdist (" + printable(hold.by.job) + ")"
                         : party_text(hold.by));
}

std::string waiting_text(const wire::GpuTurn& turn) {
    std::string text = "waiting for " + std::to_string(turn.wanted) +
                       (turn.wanted == 1 ? " GPU of this node" : " GPUs of this node");
    for (std::size_t i = 0; i < turn.held.size(); ++i) {
        text += (i == 0 ? ": " : ", ") + hold_text(turn.held[i]);
    }
    return text + "; place " + std::to_string(turn.place) + " in line (Ctrl-C gives up)";
}

void tell_waiting(const std::string& line) {
    (void)write_all(STDERR_FILENO, "dockdist: " + line + "\n");
}

// One host: what it proposes is final.
class SessionLine {
public:
    SessionLine(Loop& loop, GpuRequest request, Result<KnownGpus> known)
        : loop_(loop), reservation_(loop_, std::move(request), std::move(known),
                                    {.on_turn = [this](const wire::GpuTurn& turn) { hear(turn); },
                                     .on_error =
                                         [this](const Error& error) {
                                             failure_ = error;
                                             loop_.stop();
                                         }}) {}

    Result<HeldUnits> run() {
        reservation_.begin();
        loop_.run();
        if (failure_) {
            return *failure_;
        }
        return reservation_.turn().state == State::taken ? reservation_.hand_over() : HeldUnits();
    }

private:
    void hear(const wire::GpuTurn& turn) {
        if (turn.state == State::none || turn.state == State::taken) {
            return loop_.stop();
        }
        if (turn.number == 0) {
            return reservation_.line(0, 1);
        }
        if (!in_line_) {
            in_line_ = true;
            return reservation_.line(turn.number, 2);
        }
        if (turn.state == State::fits) {
            return reservation_.take(3);
        }
        if (const auto text = waiting_text(turn); text != said_) {
            said_ = text;
            tell_waiting(text);
        }
    }

    Loop& loop_;
    Reservation reservation_;
    std::optional<Error> failure_{};
    std::string said_{};
    bool in_line_ = false;
};

wire::GpuParty session_party(const Result<KnownGpus>& known, const std::string& owner) {
    wire::GpuParty who{.job = wire::session_job, .owner = owner};
    if (known) {
        who.cluster = known->cluster;
        who.node = known->node;
    }
    return who;
}

} // namespace

Result<SessionUnits> reserve_for_session(Loop& loop, const std::string& text, const std::string& owner,
                                         const Environment& environment) {
    const auto ask = read_ask(text);
    TRY(ask);
    auto known = load_known_gpus();
    const auto visible = visible_to(environment);
    GpuRequest request{.who = session_party(known, owner),
                       .ask = *ask,
                       .visible = visible,
                       .variable = choosing_variable(environment)};
    auto held = SessionLine(loop, std::move(request), std::move(known)).run();
    TRY(held);
    SessionUnits reserved{.held = std::move(*held)};
    if (!visible) {
        reserved.visible = visible_devices(reserved.held.units());
    }
    return reserved;
}

std::string who_has_units() {
    const auto known = load_known_gpus();
    const auto file = BoardFile::open_to_look();
    if (!known || !file) {
        return {};
    }
    std::string list;
    const auto board = file->read();
    if (!board) {
        return "who has GPUs of this node cannot be told: " + board.error().message;
    }
    for (const auto& unit : known->units) {
        if (const auto* const holder = holder_of(board->entries, unit.id)) {
            list +=
                (list.empty() ? "" : ", ") + unit_name(unit) + " " + party_text(party_of(*holder, unix_ms()));
        }
    }
    return list.empty()
               ? list
               : "jobs have GPUs of this node: " + list +
                     "; this session sees all of them, and `dockdist ssh --gpus N` has some of its own";
}

} // namespace dockdist::node
