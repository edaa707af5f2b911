#include "client/report/plain_reporter.hpp"

#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/units.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

constexpr auto progress_interval = std::chrono::seconds(10);
constexpr std::size_t most_phase_lines = 20; // of a phase

// "node-0: create: created"
std::string step_text(const Event& event, std::string_view text) {
    std::string line;
    for (const auto& part : {event.subject, event.phase}) {
        line += part.empty() ? "" : safe_cell(part) + ": ";
    }
    return line + safe_cell(text);
}

std::string timed(std::string line, std::chrono::milliseconds elapsed) {
    return std::move(line) + " (" + format_duration(elapsed) + ")\n";
}

} // namespace

PlainReporter::PlainReporter(ReporterSetting setting, OutputSink& sink)
    : setting_(std::move(setting)), sink_(sink) {}

void PlainReporter::write_progress(const Event& event) {
    const auto now = setting_.now();
    auto& last = last_progress_.try_emplace(event.phase + '\0' + event.subject, now).first->second;
    if (now - last < progress_interval) {
        return;
    }
    last = now;
    const auto* phase = progress_.find(event.phase);
    const auto step = std::ranges::find(phase->steps, event.subject, &ProgressStep::subject);
    const auto bytes = transfer_text(*step); // none are told of all that goes on
    write(step_text(event, step->text + (bytes.empty() ? "" : " " + bytes)) + '\n');
}

void PlainReporter::write_ended(const Event& event, const std::string& text) {
    auto& told = told_[event.phase];
    auto& lines = event.kind == Event::Kind::step_failed ? told.failed : told.finished;
    const auto* phase = progress_.find(event.phase);
    const bool many = phase != nullptr && phase->steps.size() > most_phase_lines;
    if (setting_.verbose || !many || lines < most_phase_lines) {
        ++lines;
        write(timed(step_text(event, text), event.elapsed));
        return;
    }
    const auto now = setting_.now();
    if (now - told.counted >= progress_interval) {
        told.counted = now;
        write(safe_cell(event.phase) + ": " + count_text(*phase) + '\n');
    }
}

void PlainReporter::on(const Event& event) {
    const auto now = setting_.now();
    progress_.apply(event, now);
    switch (event.kind) {
    case Event::Kind::phase_started:
        break;
    case Event::Kind::phase_finished: {
        const auto* phase = progress_.find(event.phase);
        std::string line = safe_cell(event.phase) + ": ";
        line += phase == nullptr || phase->steps.empty() ? "done" : count_text(*phase);
        write(timed(line, event.elapsed));
        told_.erase(event.phase);
        progress_.end(event.phase);
        break;
    }
    case Event::Kind::step_started:
        if (setting_.verbose) {
            write(step_text(event, event.text) + '\n');
        }
        break;
    case Event::Kind::step_progress:
        write_progress(event);
        break;
    case Event::Kind::step_finished:
        write_ended(event, event.text);
        break;
    case Event::Kind::step_failed:
        write_ended(event, "failed: " + event.text);
        break;
    case Event::Kind::note:
        write(note_text(event.subject, event.text, setting_.traits));
        break;
    case Event::Kind::warning:
        write(warning_text(event.subject, event.text, setting_.traits));
        break;
    case Event::Kind::waiting:
        write(note_text(event.subject, event.text, setting_.traits));
        break;
    case Event::Kind::still_waiting:
    case Event::Kind::asked: // scripts have nothing from lines that are to be erased again
    case Event::Kind::answered:
        break;
    case Event::Kind::waited:
        write(note_text(event.subject, waited_text(event.elapsed), setting_.traits));
        break;
    }
}

void PlainReporter::error(const Error& error) {
    write(error_text(error, setting_.traits));
}

} // namespace dockdist
