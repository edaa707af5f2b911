#include "client/report/json_reporter.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

using Json = nlohmann::ordered_json;

const char* to_word(Event::Kind kind) {
    switch (kind) {
    case Event::Kind::phase_started:
        return "phase_started";
    case Event::Kind::phase_finished:
        return "phase_finished";
    case Event::Kind::step_started:
        return "step_started";
    case Event::Kind::step_progress:
        return "step_progress";
    case Event::Kind::step_finished:
        return "step_finished";
    case Event::Kind::step_failed:
        return "step_failed";
    case Event::Kind::note:
        return "note";
    case Event::Kind::warning:
        return "warning";
    case Event::Kind::waiting:
    case Event::Kind::still_waiting:
        return "waiting";
    case Event::Kind::waited:
        return "waited";
    case Event::Kind::asked:
        return "asked";
    case Event::Kind::answered:
        return "answered";
    }
    return "note";
}

void put(Json& json, const char* key, const std::string& text) {
    if (!text.empty()) {
        json[key] = text;
    }
}

std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace

JsonReporter::JsonReporter(ReporterSetting setting, OutputSink& sink)
    : setting_(std::move(setting)), sink_(sink) {}

void JsonReporter::on(const Event& event) {
    using Kind = Event::Kind;
    if (event.kind == Kind::still_waiting || event.kind == Kind::asked || event.kind == Kind::answered) {
        return;
    }
    const auto key = event.phase + '\0' + event.subject;
    if (event.kind == Kind::step_progress) {
        const auto now = setting_.now();
        const auto [last, inserted] = last_progress_.try_emplace(key, now);
        if (!inserted && now - last->second < std::chrono::seconds(1)) {
            return;
        }
        last->second = now;
    }
    Json json{{"type", "event"}, {"kind", to_word(event.kind)}};
    put(json, "phase", event.phase);
    put(json, "subject", event.subject);
    put(json, "text", event.text);
    if (event.current) {
        json["current"] = *event.current;
    }
    if (event.total) {
        json["total"] = *event.total;
    }
    if (event.kind == Kind::phase_finished || event.kind == Kind::step_finished ||
        event.kind == Kind::step_failed || event.kind == Kind::waited) {
        json["elapsed_ms"] = event.elapsed.count();
        last_progress_.erase(key);
    }
    sink_.write(setting_.fd, Displayable::json(line(json)));
}

void JsonReporter::error(const Error& error) {
    Json json{{"type", "error"}, {"kind", to_string(error.kind)}};
    put(json, "where", error.where);
    json["message"] = error.message;
    put(json, "hint", error.hint);
    sink_.write(STDERR_FILENO, Displayable::json(line(json)));
}

} // namespace dockdist
