#include "client/cli/looking/sampled_nodes.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {

SampledNodes::SampledNodes(Context& context, const Connected& cluster, std::chrono::milliseconds interval)
    : context_(context), changed_(context.executor),
      feeds_(context, cluster, {}, static_cast<int>(interval.count()),
             {.sample = [this](std::size_t index, const wire::SampleFacts& facts,
                               wire::Sample sample) { hear(index, facts, std::move(sample)); },
              .trouble = [this](std::size_t index, const Error& why) { is_down(index, why); }}) {
    for (const auto& node : expand_nodes(cluster.spec)) {
        nodes_.push_back({.node = node.name, .host = cluster.spec.hosts[node.host].name});
    }
    complete_.resize(nodes_.size());
    told_.resize(nodes_.size());
}

Task<void> SampledNodes::follow() {
    (void)co_await feeds_.run();
}

Task<void> SampledNodes::first_round(std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!all_complete() && std::chrono::steady_clock::now() < until) {
        changed_.reset();
        co_await changed_.wait_at_most(
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()));
    }
}

bool SampledNodes::all_complete() const {
    return std::ranges::all_of(complete_, [](bool complete) { return complete; });
}

Errors SampledNodes::missing() const {
    Errors errors;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!complete_[i]) {
            errors.push_back({ErrorKind::timeout, nodes_[i].node.str(),
                              nodes_[i].up
                                  ? "the figures of its GPUs are missing: nvidia-smi has not answered yet"
                                  : "nothing is known of it yet: it has not answered, or its host has not",
                              "see `dockdist status`"});
        }
    }
    return errors;
}

void SampledNodes::hear(std::size_t index, const wire::SampleFacts& facts, wire::Sample sample) {
    auto& node = nodes_[index];
    node.up = true;
    if (!told_[index].empty()) {
        told_[index].clear();
        context_.reporter->on({.kind = Event::Kind::note, .text = node.node.str() + " is there again"});
    }
    node.facts = facts;
    node.sample = std::move(sample);
    const bool gpus_told = facts.gpus.empty() || !node.sample->gpus.empty();
    complete_[index] = complete_[index] || (!facts.asking_gpus && gpus_told);
    changed_.set();
}

void SampledNodes::is_down(std::size_t index, const Error& error) {
    auto& node = nodes_[index];
    node.up = false;
    node.sample.reset();
    node.facts = {};
    complete_[index] = true;
    changed_.set();
    if (told_[index] != error.message) { // not at each visit
        told_[index] = error.message;
        context_.reporter->on(warning_event(error));
    }
}

} // namespace dockdist
