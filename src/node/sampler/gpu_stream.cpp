#include "node/sampler/gpu_stream.hpp"

#include "node/system/process_killer.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_smi_line = 4096;
constexpr std::int64_t listing_limit_ms = 5000;
constexpr std::int64_t longest_restart_pause_ms = 60000;
constexpr std::int64_t least_stream_patience_ms =
    5000;                                     // without persistence mode a driver takes seconds to answer
constexpr std::int64_t least_fresh_ms = 2000; // a round over all GPUs of a busy driver takes a while

Result<Helper> marked_helper(std::vector<std::string> argv) {
    auto helper = believed_helper(std::move(argv));
    if (helper) {
        helper->environment.set(wire::job_mark, helper_mark);
    }
    return helper;
}

} // namespace

GpuStream::GpuStream(Loop& loop, int interval_ms) : loop_(loop), interval_ms_(interval_ms) {
    start();
}

GpuStream::~GpuStream() {
    loop_.cancel(again_);
}

void GpuStream::start() {
    const auto helper = marked_helper(gpu_figures_command(interval_ms_, figures_));
    if (!helper) {
        asking_ = false;
        present_ = false;
        amd_ = !look_at_amd_gpus(false).empty();
        return;
    }
    buffer_.clear();
    last_words_.clear();
    started_at_ms_ = loop_.now_ms();
    has_told_ = false;
    run_ = std::make_unique<HelperRun>(loop_, *helper, HelperRun::no_limit,
                                       [this](const Finished& finished) { end(finished); });
    run_->hear([this](std::string_view bytes) { hear(bytes); });
}

void GpuStream::hear(std::string_view bytes) {
    buffer_ += bytes;
    std::size_t begin = 0;
    for (auto end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n', begin)) {
        hear_line(buffer_.substr(begin, end - begin));
        begin = end + 1;
    }
    buffer_.erase(0, begin);
    if (buffer_.size() > longest_smi_line) {
        buffer_.clear();
    }
}

void GpuStream::hear_line(const std::string& line) {
    auto told = parse_gpu_figures(line);
    if (!told) {
        if (last_words_.empty()) {
            last_words_ =
                printable(line.substr(0, 160)).substr(0, 160); // \xHH is longer than what it stands for
        }
        return;
    }
    if (!known_.contains(told->gpu.index) && known_.size() == wire::most_sampled_gpus) {
        return;
    }
    asking_ = false;
    has_told_ = true;
    problem_.clear();
    driver_ = told->driver;
    // Without one that is lost, a driver that starts anew counts the others from 0 again.
    std::erase_if(known_, [&](const auto& one) {
        return one.first != told->gpu.index && !told->gpu.uuid.empty() &&
               one.second.gpu.uuid == told->gpu.uuid;
    });
    auto& known = known_[told->gpu.index];
    told->gpu.instances = std::move(known.gpu.instances);
    known = {.gpu = std::move(told->gpu), .figures = told->figures, .told_at_ms = loop_.now_ms()};
    if (told->mig && !has_instances_) {
        has_instances_ = true;
        ask_instances();
    }
}

void GpuStream::ask_instances() {
    const auto helper = marked_helper(smi_argv(SmiQuestion::listing));
    if (!helper) {
        return;
    }
    listing_ = std::make_unique<HelperRun>(loop_, *helper, listing_limit_ms, [this](const Finished& answer) {
        const auto keep = std::move(listing_); // this is called from it
        for (auto& [index, known] : known_) {
            known.gpu.instances.clear();
        }
        for (const auto& instance : parse_mig(answer.output)) {
            if (const auto found = known_.find(instance.gpu);
                found != known_.end() && found->second.gpu.instances.size() < wire::most_sampled_items) {
                found->second.gpu.instances.push_back(instance.uuid);
            }
        }
    });
}

// A driver that does not know the name of the query's last field refuses all of it.
void GpuStream::end(const Finished& finished) {
    const auto keep = std::move(run_); // this is called from it
    asking_ = false;
    has_instances_ = false;
    if (has_told_) {
        failures_ = 0;
    } else {
        figures_ = figures_ == SmiQuestion::figures ? SmiQuestion::old_figures : SmiQuestion::figures;
    }
    ++failures_;
    problem_ = "nvidia-smi has ended with code " + std::to_string(finished.code) +
               (last_words_.empty() ? "" : ": " + last_words_);
    std::int64_t pause = 0;
    if (has_told_ || failures_ > 1) {
        pause = std::min<std::int64_t>(std::int64_t{1000} << std::min(failures_ - 1, 10),
                                       longest_restart_pause_ms);
    } else {
        asking_ = true; // by the other name, at once
        problem_.clear();
    }
    again_ = loop_.after(pause, [this] { start(); });
}

bool GpuStream::fresh(const Known& known) const {
    return loop_.now_ms() - known.told_at_ms <=
           std::max<std::int64_t>(least_fresh_ms, 3LL * interval_ms_ + interval_ms_ / 2);
}

void GpuStream::tell(wire::SampleFacts& facts) {
    facts.gpus.clear();
    if (amd_) {
        amd_gpus_ = look_at_amd_gpus(false);
        for (const auto& amd : amd_gpus_) {
            facts.gpus.push_back(amd.inventory);
            facts.driver = amd.gpu.driver;
        }
        return;
    }
    for (const auto& [index, known] : known_) {
        facts.gpus.push_back(known.gpu);
    }
    facts.driver = driver_;
    facts.asking_gpus = asking_;
    facts.gpu_problem = problem_;
    const auto longest_silence = std::max<std::int64_t>(least_stream_patience_ms, 3LL * interval_ms_);
    auto heard_at_ms = started_at_ms_;
    for (const auto& [index, known] : known_) {
        heard_at_ms = std::max(heard_at_ms, known.told_at_ms);
    }
    if (present_ && run_ && problem_.empty() && loop_.now_ms() - heard_at_ms > longest_silence) {
        facts.asking_gpus = false;
        facts.gpu_problem =
            "nvidia-smi says nothing: look at it on the host, and for Xid errors in its dmesg";
    }
}

std::vector<wire::GpuSample> GpuStream::figures(const wire::SampleFacts& facts) const {
    std::vector<wire::GpuSample> figures;
    if (amd_) {
        for (const auto& amd : amd_gpus_) {
            figures.push_back(amd.figures);
        }
        return figures;
    }
    bool any = false;
    for (const auto& gpu : facts.gpus) {
        const auto found = known_.find(gpu.index);
        const bool told = found != known_.end() && fresh(found->second);
        figures.push_back(told ? found->second.figures : wire::GpuSample{});
        any = any || told;
    }
    return any ? figures : std::vector<wire::GpuSample>{};
}

} // namespace dockdist::node
