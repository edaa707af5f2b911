#include "client/report/progress.hpp"

#include "shared/core/units.hpp"

#include <algorithm>

namespace dockdist {
namespace {

constexpr auto rate_window = std::chrono::seconds(3);
constexpr auto rate_needs = std::chrono::milliseconds(500);

void measure_rate(ProgressStep& step, ProgressTime now) {
    const auto bytes = step.current.value_or(0);
    if (bytes < step.rate_base) { // another transfer, counted from its own start
        step.rate_base = bytes;
        step.rate_since = now;
        step.bytes_per_second = 0;
        return;
    }
    const std::chrono::duration<double> passed = now - step.rate_since;
    if (passed >= rate_needs) {
        step.bytes_per_second =
            static_cast<std::uint64_t>(static_cast<double>(bytes - step.rate_base) / passed.count());
    }
    if (passed >= rate_window) {
        step.rate_base = bytes;
        step.rate_since = now;
    }
}

bool is_of_phase(Event::Kind kind) {
    using enum Event::Kind;
    return kind != note && kind != warning && kind != waiting && kind != still_waiting && kind != waited &&
           kind != asked && kind != answered;
}

} // namespace

std::string count_text(const ProgressPhase& phase) {
    auto text = std::to_string(phase.finished) + " of " + std::to_string(phase.steps.size());
    return phase.failed > 0 ? text + ", " + std::to_string(phase.failed) + " failed" : text;
}

ProgressPhase& Progress::phase_of(const Event& event, ProgressTime now) {
    const auto found = std::ranges::find(phases_, event.phase, &ProgressPhase::name);
    if (found != phases_.end()) {
        return *found;
    }
    return phases_.emplace_back(ProgressPhase{.name = event.phase, .started = now});
}

ProgressStep& Progress::step_of(ProgressPhase& phase, const Event& event, ProgressTime now) {
    const auto [row, inserted] = rows_[phase.name].try_emplace(event.subject, phase.steps.size());
    if (inserted) {
        phase.steps.push_back(ProgressStep{.subject = event.subject, .started = now, .rate_since = now});
    }
    return phase.steps[row->second];
}

void Progress::apply(const Event& event, ProgressTime now) {
    using Kind = Event::Kind;
    if (event.kind == Kind::phase_finished || !is_of_phase(event.kind)) {
        return;
    }
    auto& phase = phase_of(event, now);
    if (event.kind == Kind::phase_started) {
        return;
    }
    auto& step = step_of(phase, event, now);
    using State = ProgressStep::State;
    phase.finished -= step.state == State::finished ? 1U : 0U;
    phase.failed -= step.state == State::failed ? 1U : 0U;
    if (event.kind == Kind::step_started) {
        step = ProgressStep{.subject = event.subject, .started = now, .rate_since = now};
    }
    if (!event.text.empty()) {
        step.text = event.text;
    }
    step.state = State::running;
    if (event.kind == Kind::step_progress) {
        step.current = event.current;
        step.total = event.total;
        measure_rate(step, now);
    } else if (event.kind != Kind::step_started) {
        step.state = event.kind == Kind::step_finished ? State::finished : State::failed;
        step.elapsed = event.elapsed.count() > 0
                           ? event.elapsed
                           : std::chrono::duration_cast<std::chrono::milliseconds>(now - step.started);
    }
    phase.finished += step.state == State::finished ? 1U : 0U;
    phase.failed += step.state == State::failed ? 1U : 0U;
}

const ProgressPhase* Progress::find(const std::string& phase) const {
    const auto found = std::ranges::find(phases_, phase, &ProgressPhase::name);
    return found != phases_.end() ? &*found : nullptr;
}

void Progress::end(const std::string& phase) {
    std::erase_if(phases_, [&](const ProgressPhase& each) { return each.name == phase; });
    rows_.erase(phase);
}

std::string transfer_text(const ProgressStep& step) {
    if (step.state != ProgressStep::State::running || !step.current) {
        return {};
    }
    std::string text = format_size(Bytes{*step.current});
    if (step.total) {
        text += " of " + format_size(Bytes{*step.total});
    }
    if (step.bytes_per_second > 0) {
        text += ", " + format_size(Bytes{step.bytes_per_second}) + "/s";
        if (step.total && *step.total > *step.current) {
            const auto left = (*step.total - *step.current) / step.bytes_per_second + 1;
            text += ", " +
                    (left < 60 ? std::to_string(left) + " s" : format_duration(std::chrono::seconds(left))) +
                    " left";
        }
    }
    return text;
}

} // namespace dockdist
