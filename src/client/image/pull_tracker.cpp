#include "client/image/pull_tracker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {

// The words are those of moby's pkg/streamformatter users (distribution/xfer/download.go, daemon/containerd).
void PullTracker::apply(const PullProgress& message) {
    const auto& status = message.status;
    const bool comes = status == "Downloading" || status == "Pulling layer fs"; // containerd's transfers
    const bool known = comes || status == "Pulling fs layer" || status == "Waiting" ||
                       status == "Verifying Checksum" || status == "Download complete" ||
                       status == "Extracting" || status == "Pull complete" || status == "Already exists";
    if (message.layer.empty() || !known) {
        return;
    }
    auto& layer = layers_[message.layer];
    const auto reach = [&](Stage stage) { layer.stage = std::max(layer.stage, stage); };
    if (comes) {
        reach(Stage::downloading);
        layer.downloaded = message.current.value_or(layer.downloaded);
        if (message.total.value_or(0) > 0) {
            layer.size = message.total;
        }
    } else if (status == "Verifying Checksum" || status == "Download complete") {
        reach(Stage::downloaded);
    } else if (status == "Extracting") {
        reach(Stage::extracting);
        tells_bytes_ = tells_bytes_ || message.current.has_value();
        layer.extracted = message.current.value_or(layer.extracted);
        if (!layer.size && message.total.value_or(0) > 0) {
            layer.size = message.total;
        }
    } else if (status == "Pull complete" || status == "Already exists") {
        reach(Stage::done);
        tells_layers_ = tells_layers_ || status == "Pull complete";
    }
    if (layer.stage >= Stage::downloaded) {
        layer.downloaded = layer.size.value_or(layer.downloaded);
    }
    if (layer.stage == Stage::done) {
        layer.extracted = layer.size.value_or(layer.extracted);
    }
}

bool PullTracker::all_downloaded() const {
    return !layers_.empty() && std::ranges::all_of(layers_, [](const auto& each) {
        return each.second.stage >= Stage::downloaded;
    });
}

std::string PullTracker::text() const {
    if (layers_.empty()) {
        return "ask the registry";
    }
    const bool extracting = all_downloaded();
    if (extracting && !tells_layers_ && !tells_bytes_) {
        return "extract";
    }
    const auto reached = std::ranges::count_if(layers_, [&](const auto& each) {
        return each.second.stage >= (extracting ? Stage::done : Stage::downloaded);
    });
    return fmt::format("{}, {} of {} layers", extracting ? "extract" : "download", reached, layers_.size());
}

bool PullTracker::has_begun() const {
    return std::ranges::any_of(layers_, [](const auto& each) {
        return each.second.downloaded > 0 || each.second.stage >= Stage::downloaded;
    });
}

std::optional<std::uint64_t> PullTracker::current() const {
    const bool extracting = all_downloaded();
    if (extracting && !tells_bytes_) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    for (const auto& [id, layer] : layers_) {
        sum += extracting ? layer.extracted : layer.downloaded;
    }
    return sum;
}

std::optional<std::uint64_t> PullTracker::total() const {
    if (!current()) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    for (const auto& [id, layer] : layers_) {
        if (!layer.size && layer.stage < Stage::downloaded) {
            return std::nullopt;
        }
        sum += layer.size.value_or(0);
    }
    return sum == 0 ? std::nullopt : std::optional(sum);
}

} // namespace dockdist
