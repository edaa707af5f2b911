#include "node/job/silence_watch.hpp"

#include "node/system/network.hpp"
#include "node/system/unanswered.hpp"
#include "shared/job_state/stack_text.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace dockdist::node {
namespace {

constexpr std::size_t most_of_a_flight = 16U << 10U; // of most_told_ranks, in one line
constexpr std::size_t most_addresses = 64;

// By which NCCL may name this node.
std::vector<std::string> own_addresses() {
    std::vector<std::string> all;
    for (const auto& each : interface_addresses()) {
        if (all.size() < most_addresses) {
            all.push_back(each.address);
        }
    }
    return all;
}

} // namespace

void SilenceWatch::begin() {
    end();
    begun_ms_ = last_ms_ = loop_.now_ms();
    voices_.clear();
    silent_ = false;
    if (stall_ms_ > 0) {
        arm(stall_ms_);
    }
}

void SilenceWatch::end() {
    loop_.cancel(timer_);
    reporting_ = examining_ = false;
    looks_.end();
}

void SilenceWatch::arm(std::int64_t delay_ms) {
    loop_.cancel(timer_);
    timer_ = loop_.after(delay_ms, [this] {
        const auto left = last_ms_ + stall_ms_ - loop_.now_ms();
        if (left > 0) {
            return arm(left);
        }
        silent_ = true;
        on_event({.type = wire::JobEvent::Type::silent});
    });
}

void SilenceWatch::heard(std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
    last_ms_ = loop_.now_ms();
    auto& voice = voices_[rank];
    voice.last_ms = last_ms_;
    if (stream == 2) {
        voice.line_is_open = !bytes.ends_with('\n');
    }
    if (silent_) {
        silent_ = false;
        arm(stall_ms_);
        on_event({.type = wire::JobEvent::Type::speaks});
    }
}

void SilenceWatch::look(Ranks ranks, pid_t command, const Account& account, const Environment& environment,
                        RankLooks::Heard heard, const RankLooks::Manner& manner) {
    if (ranks.empty() && command != 0) {
        ranks.emplace_back(-1, command);
    }
    std::vector<RankLooks::Wanted> wanted;
    for (const auto& [rank, root] : ranks) {
        wanted.push_back({.rank = rank,
                          .root = root,
                          .silent_ms = loop_.now_ms() - std::max(voices_[rank].last_ms, begun_ms_)});
    }
    looks_.begin(wanted, manner, account, environment, std::move(heard));
}

void SilenceWatch::report(Ranks ranks, pid_t command, const Account& account,
                          const Environment& environment) {
    if (reporting_) {
        return;
    }
    reporting_ = true;
    advised_ = false;
    seen_.clear();
    look(std::move(ranks), command, account, environment,
         {.seen =
              [this](wire::RankStack stack) {
                  write_seen(stack);
                  keep_seen(seen_, std::move(stack));
              },
          .over =
              [this](const wire::RasReport& ras) {
                  if (std::exchange(reporting_, false)) {
                      on_event({.type = wire::JobEvent::Type::reported,
                                .ranks = std::exchange(seen_, {}),
                                .ras = ras});
                  }
              }});
}

void SilenceWatch::examine(Ranks ranks, pid_t command, const Account& account, const Environment& environment,
                           const RankLooks::Manner& manner, std::vector<int> ended) {
    if (examining_) {
        return;
    }
    examining_ = true;
    examined_.clear();
    for (const auto rank : ended) {
        keep_seen(examined_, {.rank = rank, .state = wire::RankStack::State::ended});
    }
    look(std::move(ranks), command, account, environment,
         {.seen = [this](wire::RankStack stack) { keep_seen(examined_, std::move(stack)); },
          .over =
              [this](const wire::RasReport& ras) {
                  if (std::exchange(examining_, false)) {
                      on_event(
                          {.type = wire::JobEvent::Type::examined,
                           .ranks = std::exchange(examined_, {}),
                           .ras = ras,
                           .node = {.addresses = own_addresses(), .unanswered = unanswered_addresses()}});
                  }
              }},
         manner);
}

void SilenceWatch::write_seen(const wire::RankStack& stack) {
    if (std::exchange(voices_[stack.rank].line_is_open, false)) {
        log_.append(2, stack.rank, "\n");
    }
    log_.append(2, stack.rank, stack_text(stack, !advised_));
    advised_ = advised_ || !stack.advice.empty();
}

// What the job's coordinator judges by.
void SilenceWatch::keep_seen(std::vector<wire::RankStack>& seen, wire::RankStack stack) {
    if (seen.size() == wire::most_told_ranks) {
        return;
    }
    const auto* const main = wire::main_thread(stack.threads, stack.pid);
    auto threads = main == nullptr ? std::vector<wire::ThreadStack>() : std::vector{*main};
    // Whoever holds the GIL is told without its frames.
    for (auto& thread : stack.threads) {
        if (thread.holds_gil && &thread != main) {
            threads.push_back(
                {.name = thread.name, .id = thread.id, .active = thread.active, .holds_gil = true});
        }
    }
    stack.threads = std::move(threads);
    stack.lines.clear();
    if (wire::dump(wire::flight_object(stack.flight)).size() > most_of_a_flight) {
        stack.flight = {.problem = "its flight recorder tells more than one event holds"};
    }
    seen.push_back(std::move(stack));
}

} // namespace dockdist::node
