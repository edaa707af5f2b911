#include "client/report/tty_reporter.hpp"

#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/units.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using State = ProgressStep::State;
using std::chrono::milliseconds;

constexpr auto frame = milliseconds(100);
constexpr auto long_for_an_answer = milliseconds(500);
constexpr std::size_t widest_subject = 32;
constexpr std::size_t widest_text = 64;
constexpr std::array<std::string_view, 10> spinner{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> ascii_spinner{"|", "/", "-", "\\"};

milliseconds since(ProgressTime start, ProgressTime now) {
    return std::chrono::duration_cast<milliseconds>(now - start);
}

std::string what(const ProgressStep& step, bool unicode) {
    std::string text = clipped(safe_cell(step.text), widest_text, unicode);
    if (const auto transfer = transfer_text(step); !transfer.empty()) {
        text += "  " + transfer;
    }
    return text;
}

// Those that failed, then those at work, the slowest first; but of many that failed not all: the slow one is
// what everybody waits for.
void put_urgent_first(std::vector<const ProgressStep*>& steps, std::size_t room) {
    const auto urgency = [](const ProgressStep* step) { // then the order of appearance
        const bool running = step->state == State::running;
        return std::tuple(step->state == State::failed ? 0
                          : running                    ? 1
                                                       : 2,
                          running ? step->started : ProgressTime{}, step);
    };
    std::ranges::sort(steps, {}, urgency);
    const auto is_failed = [](const ProgressStep* step) { return step->state == State::failed; };
    const auto failed = static_cast<std::size_t>(std::ranges::count_if(steps, is_failed));
    const auto most = room - room / 3;
    if (failed > most) {
        const auto begin = steps.begin();
        const auto running = static_cast<std::size_t>(
            std::ranges::count(steps, State::running, [](const ProgressStep* step) { return step->state; }));
        const auto moved = std::min(room - most, running);
        if (failed <= room - moved) {
            return;
        }
        std::rotate(begin + static_cast<std::ptrdiff_t>(room - moved),
                    begin + static_cast<std::ptrdiff_t>(failed),
                    begin + static_cast<std::ptrdiff_t>(failed + moved));
    }
}

// "180 more: 2 failed, 8 at work, 170 done"; "180 more" where all are the same is enough.
std::string counted_states(const std::vector<const ProgressStep*>& steps) {
    std::string states;
    int kinds = 0;
    for (const auto& [state, word] :
         {std::pair(State::failed, " failed"), std::pair(State::running, " at work"),
          std::pair(State::finished, " done")}) {
        const auto count =
            std::ranges::count(steps, state, [](const ProgressStep* step) { return step->state; });
        if (count > 0) {
            states += (states.empty() ? "" : ", ") + std::to_string(count) + word;
            ++kinds;
        }
    }
    const auto all = std::to_string(steps.size()) + " more";
    return kinds > 1 ? all + ": " + states : all;
}

} // namespace

TtyReporter::TtyReporter(ReporterSetting setting, OutputSink& sink)
    : setting_(std::move(setting)), sink_(sink), last_draw_(setting_.now() - frame),
      start_(last_draw_ + frame) {}

TtyReporter::~TtyReporter() {
    TtyReporter::finish();
}

std::string TtyReporter::mark(State state, ProgressTime now) const {
    const auto& traits = setting_.traits;
    switch (state) {
    case State::finished:
        return styled(traits.unicode ? "✓" : "+", style::green, traits.colour);
    case State::failed:
        return styled(traits.unicode ? "✗" : "x", style::red, traits.colour);
    case State::running:
        break;
    }
    if (finished_) {
        return traits.unicode ? "·" : "-";
    }
    const auto tick = static_cast<std::size_t>(since(start_, now) / frame);
    const auto shown =
        traits.unicode ? spinner[tick % spinner.size()] : ascii_spinner[tick % ascii_spinner.size()];
    return styled(shown, style::cyan, traits.colour);
}

std::string TtyReporter::row(const ProgressStep& step, std::size_t subject_width, std::size_t text_width,
                             ProgressTime now) const {
    const auto elapsed = step.state == State::running ? since(step.started, now) : step.elapsed;
    return "  " + mark(step.state, now) + ' ' + padded(safe_cell(step.subject), subject_width) + "  " +
           padded(what(step, setting_.traits.unicode), text_width) + "  " +
           styled(format_duration(elapsed), style::dim, setting_.traits.colour);
}

std::string TtyReporter::header(const ProgressPhase& phase, std::string_view sign,
                                milliseconds elapsed) const {
    std::string line =
        std::string(sign) + ' ' + styled(safe_cell(phase.name), style::bold, setting_.traits.colour) + "  ";
    if (!phase.steps.empty()) {
        line += count_text(phase) + "  ";
    }
    return line + styled(format_duration(elapsed), style::dim, setting_.traits.colour);
}

std::vector<std::string> TtyReporter::rows_of(const ProgressPhase& phase, std::size_t room,
                                              ProgressTime now) const {
    std::vector<const ProgressStep*> shown;
    for (const auto& step : phase.steps) {
        shown.push_back(&step);
    }
    std::string hidden;
    if (shown.size() > room) {
        const auto kept = room > 0 ? room - 1 : 0;
        put_urgent_first(shown, kept);
        hidden = std::string("  ") + (setting_.traits.unicode ? "…" : "...") + " and " +
                 counted_states({shown.begin() + static_cast<std::ptrdiff_t>(kept), shown.end()});
        shown.resize(kept);
    }
    std::size_t subject_width = 0;
    std::size_t text_width = 0;
    for (const auto* step : shown) {
        subject_width =
            std::max(subject_width, std::min(display_width(safe_cell(step->subject)), widest_subject));
        text_width = std::max(text_width, display_width(what(*step, setting_.traits.unicode)));
    }
    std::vector<std::string> lines;
    for (const auto* step : shown) {
        lines.push_back(row(*step, subject_width, text_width, now));
    }
    if (!hidden.empty() && room > 0) {
        lines.push_back(std::move(hidden));
    }
    return lines;
}

std::vector<std::string> TtyReporter::summary(const ProgressPhase& phase, milliseconds elapsed,
                                              ProgressTime now) const {
    const auto state = phase.failed > 0      ? State::failed
                       : phase.running() > 0 ? State::running
                                             : State::finished;
    std::vector<std::string> lines{header(phase, mark(state, now), elapsed)};
    ProgressPhase kept;
    for (const auto& step : phase.steps) {
        if (setting_.verbose || step.state != State::finished) {
            kept.steps.push_back(step);
        }
    }
    const auto room = setting_.verbose ? kept.steps.size() : LiveRegion::max_lines(setting_.size());
    for (auto& line : rows_of(kept, room, now)) {
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<std::string> TtyReporter::live_lines(TerminalSize size, ProgressTime now) const {
    std::vector<std::string> lines;
    const auto room = LiveRegion::max_lines(size);
    for (const auto& phase : progress_.phases()) {
        if (lines.size() >= room) {
            break;
        }
        lines.push_back(header(phase, mark(State::running, now), since(phase.started, now)));
        for (auto& line : rows_of(phase, room - lines.size(), now)) {
            lines.push_back(std::move(line));
        }
    }
    const auto add = [&](const std::string& what, ProgressTime began) {
        for (auto& line : what.empty() ? std::vector<std::string>() : waiting_lines(what, began, size, now)) {
            if (lines.size() < room) {
                lines.push_back(std::move(line));
            }
        }
    };
    add(waiting_, waiting_since_);
    add(asked_text(now), asked_.empty() ? now : asked_.front().since);
    return lines;
}

// Whole, over as many lines as it takes.
std::vector<std::string> TtyReporter::waiting_lines(const std::string& what, ProgressTime began,
                                                    TerminalSize size, ProgressTime now) const {
    constexpr std::string_view indent = "  ";
    const auto width = size.columns > indent.size() ? size.columns - indent.size() : 1;
    const auto text = safe_cell(what) + " (" + format_duration(since(began, now)) + ")";
    auto lines = wrapped(text, width);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        lines[i] = (i == 0 ? mark(State::running, now) + ' ' : std::string(indent)) + lines[i];
    }
    return lines;
}

// All who have not answered, once the first of them has been asked for long.
std::string TtyReporter::asked_text(ProgressTime now) const {
    if (asked_.empty() || since(asked_.front().since, now) < long_for_an_answer) {
        return {};
    }
    std::vector<std::string> names;
    for (const auto& one : asked_) {
        names.push_back(one.subject);
    }
    return "waiting for " + short_host_list(names, widest_text);
}

void TtyReporter::answered(const std::string& subject, ProgressTime now) {
    const auto found = std::ranges::find(asked_, subject, &Asked::subject);
    if (found == asked_.end()) {
        return;
    }
    asked_.erase(found);
    if (!is_live(now) && region_.visible()) {
        redraw(now); // what stood there goes
    }
}

bool TtyReporter::is_live(ProgressTime now) const {
    return !finished_ && (!progress_.phases().empty() || !waiting_.empty() || !asked_text(now).empty());
}

// The window may have been resized since.
OutputTraits TtyReporter::traits() const {
    auto traits = setting_.traits;
    traits.columns = setting_.size().columns;
    return traits;
}

// What stays on the screen; a step's text is told whole by its error.
std::string TtyReporter::joined(const std::vector<std::string>& lines) const {
    std::string text;
    for (const auto& line : lines) {
        text += clipped(line, setting_.size().columns, setting_.traits.unicode) + '\n';
    }
    return text;
}

void TtyReporter::print_above(const std::string& lines) {
    const auto size = setting_.size();
    std::string bytes = region_.erase(size) + lines;
    const auto now = setting_.now();
    if (is_live(now)) {
        bytes += region_.draw(live_lines(size, now), size, setting_.traits.unicode);
        last_draw_ = now;
    }
    sink_.write(setting_.fd, Displayable::drawn(bytes));
}

void TtyReporter::redraw(ProgressTime now) {
    const auto size = setting_.size();
    last_draw_ = now;
    sink_.write(setting_.fd,
                Displayable::drawn(region_.draw(live_lines(size, now), size, setting_.traits.unicode)));
}

void TtyReporter::on(const Event& event) {
    const auto now = setting_.now();
    progress_.apply(event, now);
    switch (event.kind) {
    case Event::Kind::note:
        print_above(note_text(event.subject, event.text, traits()));
        return;
    case Event::Kind::warning:
        print_above(warning_text(event.subject, event.text, traits()));
        return;
    case Event::Kind::waiting:
    case Event::Kind::still_waiting:
        waiting_since_ = waiting_.empty() ? now : waiting_since_;
        waiting_ = event.text;
        redraw(now);
        return;
    case Event::Kind::waited:
        waiting_.clear();
        print_above(note_text(event.subject, waited_text(event.elapsed), traits()));
        return;
    case Event::Kind::asked:
        if (std::ranges::find(asked_, event.subject, &Asked::subject) == asked_.end()) {
            asked_.push_back({event.subject, now});
        }
        return;
    case Event::Kind::answered:
        return answered(event.subject, now);
    case Event::Kind::phase_finished:
        if (const auto* phase = progress_.find(event.phase)) {
            const auto elapsed = event.elapsed.count() > 0 ? event.elapsed : since(phase->started, now);
            const auto lines = summary(*phase, elapsed, now);
            progress_.end(event.phase);
            print_above(joined(lines));
        }
        return;
    default:
        tick();
    }
}

void TtyReporter::error(const Error& error) {
    print_above(error_text(error, traits()));
}

void TtyReporter::tick() {
    const auto now = setting_.now();
    if (is_live(now) && now - last_draw_ >= frame) {
        redraw(now);
    }
}

void TtyReporter::finish() {
    if (finished_) {
        return;
    }
    finished_ = true;
    waiting_.clear();
    asked_.clear();
    const auto now = setting_.now();
    std::string lines;
    for (const auto& phase : progress_.phases()) {
        lines += joined(summary(phase, since(phase.started, now), now));
    }
    if (region_.visible() || !lines.empty()) {
        print_above(lines);
    }
}

} // namespace dockdist
