#include "node/relay/tree_fetcher.hpp"

#include "node/relay/relay_thread.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace dockdist::node {
namespace {

constexpr int most_workers = 4; // enough for a fast link, where one thread decrypts and hashes 1 GB/s at best
constexpr std::int64_t most_run_bytes = 8 << 20;
constexpr int most_run_files = 64;
constexpr std::chrono::milliseconds progress_interval{250};

} // namespace

std::vector<FileRun> make_runs(const std::vector<wire::RelayFile>& files) {
    std::vector<FileRun> runs;
    std::int64_t bytes = 0;
    for (const auto& file : files) {
        const bool follows = !runs.empty() && runs.back().first + runs.back().count == file.number;
        if (!follows || runs.back().count == most_run_files || bytes + file.size > most_run_bytes) {
            runs.push_back({.first = file.number});
            bytes = 0;
        }
        ++runs.back().count;
        bytes += file.size;
    }
    return runs;
}

void TreeFetcher::begin(std::vector<wire::RelayPair> upstreams, std::vector<FileRun> runs) {
    upstreams_ = std::move(upstreams);
    runs_ = std::move(runs);
    at_work_ = most_workers;
    (void)start_thread([this] { tell_progress(); });
    for (int i = 0; i < most_workers; ++i) {
        if (!start_thread([this] { work(); })) {
            work(); // slower
        }
    }
}

void TreeFetcher::work() {
    for (auto i = next_++; i < runs_.size(); i = next_++) {
        fetch(runs_[i]);
    }
    if (--at_work_ == 0) {
        client_.tell({.type = wire::RelayMessage::Type::progress, .bytes = store_.bytes()});
        client_.tell({.type = wire::RelayMessage::Type::done});
    }
}

void TreeFetcher::tell_progress() {
    for (std::int64_t told = 0; at_work_ > 0;) {
        std::this_thread::sleep_for(progress_interval);
        if (const auto bytes = store_.bytes(); bytes != told && at_work_ > 0) {
            told = bytes;
            client_.tell({.type = wire::RelayMessage::Type::progress, .bytes = bytes});
        }
    }
}

void TreeFetcher::fetch(const FileRun& run) {
    for (const auto& upstream : upstreams_) {
        fetch_all_from(upstream, run);
    }
    for (auto left = left_of(run); left.count > 0; left = left_of(run)) {
        client_.fetch(left);
        for (int number = left.first; number < left.first + left.count; ++number) {
            const auto id = wire::relay_blob_id(number);
            if (!store_.whole(id)) {
                lost(number, client_.failure(number));
            }
        }
    }
    for (int number = run.first; number < run.first + run.count; ++number) {
        store_.give_up(wire::relay_blob_id(number));
    }
}

// A file of which no more comes is left to the next one, and those behind it are asked for anew. Who has none
// of them is not asked for each; but the last one is where they all come from.
void TreeFetcher::fetch_all_from(const wire::RelayPair& upstream, const FileRun& run) {
    constexpr int most_fruitless = 3;
    const bool last = &upstream == &upstreams_.back();
    int fruitless = 0;
    std::set<int> skipped;
    for (auto left = left_of(run); left.count > 0; left = left_of(run, skipped)) {
        const auto answer = fetch_from(upstream, left);
        fruitless = answer.any ? 0 : fruitless + 1;
        if (!answer.reached || (fruitless == most_fruitless && !last)) {
            return;
        }
        if (answer.stopped >= 0) {
            skipped.insert(answer.stopped);
        }
    }
}

// Each is opened. Of the first, what is there is kept; the others come whole.
wire::RelayRequest TreeFetcher::left_of(const FileRun& run, const std::set<int>& skipped) {
    wire::RelayRequest left;
    const auto is_lost = [this](int number) {
        const std::lock_guard lock(mutex_);
        return lost_.contains(number);
    };
    for (int number = run.first; number < run.first + run.count; ++number) {
        const auto id = wire::relay_blob_id(number);
        bool comes = !skipped.contains(number) && !is_lost(number);
        if (comes) {
            const auto begun = store_.begin(id, left.count > 0);
            if (!begun && begun.error().kind != ErrorKind::protocol) {
                lost(number, begun.error());
            }
            comes = !store_.whole(id) && (begun || begun.error().kind == ErrorKind::protocol);
        }
        if (left.count > 0 && (!comes || store_.have(id) > 0)) {
            break; // one that has begun waits until it is the first
        }
        if (comes) {
            if (left.count++ == 0) {
                left.first = number;
                left.offset = store_.have(id);
            }
        }
    }
    return left;
}

TreeFetcher::Answer TreeFetcher::fetch_from(const wire::RelayPair& upstream, const wire::RelayRequest& left) {
    auto question = RelayQuestion::ask(upstream, left, {});
    Answer answer{.reached = question.has_value()};
    std::string bytes;
    for (int number = left.first; question && number < left.first + left.count; ++number) {
        const auto id = wire::relay_blob_id(number);
        while (!store_.whole(id)) {
            if (bytes.empty()) {
                auto heard = question->hear();
                if (!heard || heard->empty()) {
                    answer.stopped = number;
                    return answer;
                }
                answer.any = true;
                bytes = std::move(*heard);
            }
            const auto size =
                std::min(bytes.size(), static_cast<std::size_t>(store_.size(id) - store_.have(id)));
            const auto kept = store_.append(id, std::string_view(bytes).substr(0, size));
            if (!kept && kept.error().kind == ErrorKind::protocol) {
                // What was begun earlier may be to blame; else another one has it, too.
                answer.stopped = number == left.first && left.offset > 0 ? -1 : number;
                return answer;
            }
            if (!kept) {
                lost(number, kept.error());
                return answer;
            }
            bytes.erase(0, size);
        }
    }
    return answer;
}

void TreeFetcher::lost(int number, const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        lost_.insert(number);
    }
    client_.tell(
        {.type = wire::RelayMessage::Type::lost, .file = number, .text = error.message, .hint = error.hint});
}

} // namespace dockdist::node
