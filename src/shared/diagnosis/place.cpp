#include "shared/diagnosis/place.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dockdist {
namespace {

// A frame whose file ends so and whose function begins so; empty: any.
struct Rule {
    std::string_view file;
    std::string_view function;
    Business business;
};

// The innermost frame that has a rule decides; of one frame the first rule.
constexpr std::array rules{
    Rule{"torch/distributed/distributed_c10d.py", "_store_based_barrier", Business::rendezvous},
    Rule{"torch/distributed/distributed_c10d.py", "init_process_group", Business::rendezvous},
    Rule{"torch/distributed/distributed_c10d.py", "_new_process_group_helper", Business::rendezvous},
    Rule{"torch/distributed/distributed_c10d.py", "", Business::collective},
    Rule{"torch/distributed/rendezvous.py", "", Business::rendezvous},
    Rule{"torch/distributed/elastic/utils/store.py", "", Business::rendezvous},
    Rule{"torch/distributed/_functional_collectives.py", "wait", Business::collective},
    Rule{"torch/nn/parallel/distributed.py", "_sync", Business::collective},
    Rule{"torch/nn/parallel/distributed.py", "_distributed_broadcast_coalesced", Business::collective},
    Rule{"torch/distributed/utils.py", "_sync", Business::collective},
    Rule{"torch/distributed/utils.py", "_verify_param_shape", Business::collective},
    Rule{"torch/cuda/__init__.py", "synchronize", Business::collective},
    Rule{"torch/cuda/streams.py", "synchronize", Business::collective},
    Rule{"mpi_ops.py", "synchronize", Business::collective},
    Rule{"jax/_src/array.py", "block_until_ready", Business::collective},
    Rule{"jax/_src/api.py", "block_until_ready", Business::collective},
    Rule{"jax/_src/distributed.py", "", Business::rendezvous},
    Rule{"torch/autograd/graph.py", "_engine_run_backward", Business::backward},
    Rule{"torch/utils/data/dataloader.py", "", Business::data},
    Rule{"torch/utils/data/_utils/fetch.py", "", Business::data},
    Rule{"torch/utils/data/_utils/pin_memory.py", "", Business::data},
    Rule{"torch/serialization.py", "", Business::storage},
    Rule{"torch/distributed/checkpoint/filesystem.py", "", Business::storage},
    Rule{"safetensors/torch.py", "", Business::storage},
    Rule{"shutil.py", "copy", Business::storage},
    Rule{"zipfile.py", "", Business::storage},
    Rule{"pickle.py", "", Business::storage},
    Rule{"/pdb.py", "", Business::debugger},
    Rule{"/bdb.py", "", Business::debugger},
    Rule{"debugpy/", "", Business::debugger},
    Rule{"remote_pdb.py", "", Business::debugger},
    Rule{"<frozen importlib._bootstrap>", "", Business::compile},
    Rule{"<frozen importlib._bootstrap_external>", "", Business::compile},
    Rule{"torch/_inductor/", "", Business::compile},
    Rule{"torch/_dynamo/", "", Business::compile},
    Rule{"triton/compiler/", "", Business::compile},
    Rule{"torch/utils/cpp_extension.py", "", Business::compile},
};

// Of what is used for anything: it counts where no other frame says what for.
constexpr std::array general{
    Rule{"threading.py", "", Business::lock},        Rule{"queue.py", "", Business::lock},
    Rule{"selectors.py", "", Business::lock},        Rule{"multiprocessing/", "", Business::lock},
    Rule{"concurrent/futures/", "", Business::lock}, Rule{"asyncio/", "", Business::lock},
};

bool is_of(const Rule& rule, const wire::StackFrame& frame) {
    const bool in_folder = rule.file.ends_with('/') && frame.file.find(rule.file) != std::string::npos;
    return (in_folder || frame.file.ends_with(rule.file)) && frame.function.starts_with(rule.function);
}

template <std::size_t count>
const Rule* rule_of(const std::array<Rule, count>& all, const wire::StackFrame& frame) {
    const auto* const found = std::ranges::find_if(all, [&](const Rule& rule) { return is_of(rule, frame); });
    return found == all.end() ? nullptr : found;
}

// Of a package or of Python itself.
bool is_of_library(const wire::StackFrame& frame) {
    constexpr std::array<std::string_view, 4> signs{"/site-packages/", "/dist-packages/", "<frozen ",
                                                    "<__array_function__"};
    const auto has = [&](std::string_view sign) { return frame.file.find(sign) != std::string::npos; };
    const auto python = frame.file.find("/lib/python"); // …/lib/python3.11/threading.py
    return std::ranges::any_of(signs, has) || python != std::string::npos ||
           rule_of(rules, frame) != nullptr || rule_of(general, frame) != nullptr;
}

} // namespace

CodePlace place_of(const wire::ThreadStack& thread) {
    CodePlace place;
    const auto own = std::ranges::find_if_not(thread.frames, is_of_library);
    place.frame = own == thread.frames.end() ? 0 : static_cast<std::size_t>(own - thread.frames.begin());
    const Rule* weak = nullptr;
    for (const auto& frame : thread.frames) {
        if (const auto* const rule = rule_of(rules, frame)) {
            place.business = rule->business;
            return place;
        }
        weak = weak == nullptr ? rule_of(general, frame) : weak;
    }
    place.business = weak == nullptr ? Business::other : weak->business;
    return place;
}

std::string frame_text(const wire::StackFrame& frame) {
    return frame.function + " (" + frame.file + (frame.line == 0 ? "" : ":" + std::to_string(frame.line)) +
           ")";
}

std::string business_text(Business business) {
    switch (business) {
    case Business::collective:
        return "waits for other ranks";
    case Business::rendezvous:
        return "waits for other ranks to come";
    case Business::backward:
        return "is in the backward pass";
    case Business::data:
        return "waits for its next batch of data";
    case Business::storage:
        return "reads or writes files";
    case Business::compile:
        return "imports or compiles";
    case Business::debugger:
        return "is in a debugger";
    case Business::lock:
        return "waits for another thread or for time to pass";
    case Business::other:
        return "is in code of its own";
    }
    return "";
}

} // namespace dockdist
