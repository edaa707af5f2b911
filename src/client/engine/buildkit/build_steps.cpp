#include "client/engine/buildkit/build_steps.hpp"

#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

std::string shortened(std::string text, std::size_t longest) {
    if (text.size() > longest) {
        text = text.substr(0, utf8_prefix(text, longest)) + "…";
    }
    return text;
}

// A heredoc's step has lines.
std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

// What it does beside the Dockerfile's steps, in words; empty: a step.
std::string work_beside(const std::string& name) {
    constexpr std::string_view internal = "[internal] ";
    if (name == "copy /context /") {
        return "unpack the folder";
    }
    if (name.starts_with(internal)) {
        return name.substr(internal.size());
    }
    return name.starts_with('[') ? "" : name;
}

} // namespace

BuildSteps::Vertex* BuildSteps::find(const std::string& digest) {
    if (const auto known = vertexes_.find(digest); known != vertexes_.end()) {
        return &known->second;
    }
    constexpr std::size_t longest_digest = 200;
    if (vertexes_.size() == most_vertexes || digest.size() > longest_digest) {
        return nullptr;
    }
    return &vertexes_[digest];
}

std::vector<BuildOutput> BuildSteps::take(const BuildTrace& trace) {
    std::vector<BuildOutput> told;
    for (const auto& change : trace.vertexes) {
        auto* vertex = find(change.digest);
        if (vertex == nullptr) {
            continue;
        }
        vertex->name = shortened(one_line(change.name), longest_name);
        if (change.started && !vertex->started) {
            const auto beside = work_beside(vertex->name);
            told.push_back({.step = !beside.empty() ? beside
                                    : change.cached ? vertex->name + " (cached)"
                                                    : vertex->name});
        }
        vertex->started = vertex->started || change.started;
        vertex->completed = vertex->completed || change.completed;
        // The others that run are cancelled then: their errors are no cause.
        if (!change.error.empty() && failed_.empty()) {
            failed_ = change.digest;
        }
        if (vertex->completed && failed_ != change.digest) {
            vertex->lines = {};
        }
    }
    for (const auto& part : trace.progress) {
        // Of a base image's layer: "sha256:…", "downloading" (26.1), "extracting sha256:…", "extract".
        const bool layer = part.id.starts_with("sha256:") && part.total > 0;
        if (layer && part.name == "downloading") {
            told.push_back({.pull = {.layer = shortened(part.id, longest_name),
                                     .status = part.completed ? "Download complete" : "Downloading",
                                     .current = part.current,
                                     .total = part.total}});
        }
    }
    for (const auto& log : trace.logs) {
        if (auto* vertex = find(log.vertex)) {
            take_log(*vertex, log.text);
        }
    }
    return told;
}

void BuildSteps::take_log(Vertex& vertex, std::string_view text) {
    if (vertex.lines.empty()) {
        vertex.lines.emplace_back();
    }
    for (const char c : text) {
        if (c == '\n') {
            vertex.lines.emplace_back();
            if (vertex.lines.size() > kept_lines + 1) {
                vertex.lines.pop_front();
            }
        } else if (vertex.lines.back().size() < longest_line) {
            vertex.lines.back() += c;
        }
    }
}

std::string BuildSteps::failed_step() const {
    constexpr std::size_t longest = 200;
    const auto vertex = vertexes_.find(failed_);
    if (vertex == vertexes_.end()) {
        return {};
    }
    const auto& name = vertex->second.name; // "[build 2/5] RUN make"
    if (auto beside = work_beside(name); !beside.empty()) {
        return beside;
    }
    const auto end = name.find("] ");
    return end == std::string::npos ? ""
                                    : fmt::format("step {} ({})", name.substr(1, end - 1),
                                                  shortened(name.substr(end + 2), longest));
}

std::string BuildSteps::failed_output() const {
    const auto vertex = vertexes_.find(failed_);
    if (vertex == vertexes_.end() || vertex->second.lines.empty()) {
        return {};
    }
    auto text = vertex->second.name + "\n";
    for (const auto& line : vertex->second.lines) {
        text += line.empty() ? "" : line + "\n";
    }
    return text;
}

} // namespace dockdist
