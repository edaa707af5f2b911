#include "client/check/gpu_health.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/smi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

using State = CheckRow::State;
using Fields = std::vector<std::string>;

constexpr const char* question_remaps = "gpu-remaps";
constexpr const char* question_processes = "gpu-processes";
constexpr double idle_mib = 1024; // what the driver itself may hold of a GPU's memory

// Lines of so many fields; what is of another shape (a message, a field that the driver does not know) is
// none.
std::vector<Fields> lines_of(const CheckedNode& node, const char* question, std::size_t fields) {
    std::vector<Fields> lines;
    const auto found = node.facts.programs.find(question);
    if (found == node.facts.programs.end() || !found->second || !may_have_answered(found->second->code)) {
        return lines;
    }
    for (const auto& line : split(found->second->output, '\n')) {
        auto words = split(line, ',');
        if (words.size() >= fields) {
            std::ranges::transform(words, words.begin(),
                                   [](const std::string& word) { return std::string(trimmed(word)); });
            lines.push_back(std::move(words));
        }
    }
    return lines;
}

// "3" and "Yes" are so many and one, "0" and "No" none; "[N/A]" is not told.
std::optional<long long> count_of(const std::string& text) {
    if (text == "Yes" || text == "No") {
        return text == "Yes" ? 1 : 0;
    }
    return whole_number<long long>(text);
}

// "GPU 3" of its UUID.
std::string gpu_name(const std::string& uuid, const std::vector<Gpu>& gpus) {
    const auto found = std::ranges::find(gpus, uuid, &Gpu::uuid);
    return found == gpus.end() ? printable(uuid) : "GPU " + std::to_string(found->index);
}

void add(std::string& list, const std::string& word) {
    list += (list.empty() ? "" : ", ") + word;
}

std::string processes_on(const CheckedNode& node, const std::string& uuid) {
    std::string list;
    for (const auto& process : lines_of(node, question_processes, 4)) {
        if (process[0] == uuid) {
            add(list, fmt::format("process {} ({})", printable(process[1]), printable(process[3])));
        }
    }
    return list;
}

} // namespace

std::vector<wire::Question> gpu_health_questions() {
    return {{.name = question_remaps, .argv = smi_argv(SmiQuestion::remapped_rows)},
            {.name = question_processes, .argv = smi_argv(SmiQuestion::processes)}};
}

CheckRow judge_ecc(const CheckedNode& node, const std::vector<Gpu>& gpus) {
    CheckRow row{.layer = CheckLayer::host, .subject = node.name.str(), .check = "ecc"};
    bool told = false;
    std::string broken;
    std::string pending;
    std::string errors;
    for (const auto& line : lines_of(node, question_remaps, 3)) {
        const auto waiting = count_of(line[1]);
        const auto failed = count_of(line[2]);
        told = told || waiting || failed;
        if (failed.value_or(0) > 0) {
            add(broken, gpu_name(line[0], gpus));
        } else if (waiting.value_or(0) > 0) {
            add(pending, gpu_name(line[0], gpus));
        }
    }
    for (const auto& gpu : gpus) {
        told = told || gpu.uncorrected;
        if (gpu.uncorrected.value_or(0) > 0) {
            add(errors, fmt::format("GPU {} ({})", gpu.index, *gpu.uncorrected));
        }
    }
    if (!broken.empty()) {
        row.state = State::fail;
        row.text = "rows of memory could not be remapped: " + broken;
        row.hint = "the GPU has to be replaced; until then leave it out with the host's `gpus: [...]`";
    } else if (!pending.empty() || !errors.empty()) {
        row.state = State::warn;
        row.text = errors.empty() ? "" : "uncorrected memory errors since the driver was loaded: " + errors;
        row.text += pending.empty()
                        ? ""
                        : (row.text.empty() ? "" : "; ") + ("rows of memory wait to be remapped: " + pending);
        row.hint =
            "reset the GPU while nothing uses it (on the host: `nvidia-smi --gpu-reset -i N`), or reboot "
            "the host; if errors come back, have the GPU replaced";
    } else {
        row.text = told ? "no uncorrected memory errors" : "not reported by these GPUs";
    }
    return row;
}

CheckRow judge_gpu_memory(const CheckedNode& node, const std::vector<Gpu>& gpus) {
    CheckRow row{.layer = CheckLayer::host, .subject = node.name.str(), .check = "memory"};
    std::string held;
    for (const auto& gpu : gpus) {
        const auto used = gpu.memory_used_mib.value_or(0);
        const auto processes = processes_on(node, gpu.uuid);
        if (used > idle_mib || !processes.empty()) {
            add(held, fmt::format("GPU {}: {:.1f} GiB{}", gpu.index, used / 1024,
                                  processes.empty() ? "" : " by " + processes));
        }
    }
    if (held.empty()) {
        row.text = "the GPUs' memory is free";
    } else if (node.facts.system && !node.facts.system->jobs.empty()) {
        row.text =
            "the job " + printable(node.facts.system->jobs.front()) + " runs here and holds GPU memory";
    } else {
        row.state = State::warn;
        row.text = "GPU memory is held, and no job of this cluster runs here: " + held;
        row.hint = is_amd_uuid(gpus.front().uuid) ? "on the host, `amd-smi process` and `fuser -v /dev/kfd` "
                                                    "name who it is: end that, or wait for it"
                                                  : "on the host, `nvidia-smi` and `fuser -v /dev/nvidia*` "
                                                    "name who it is: end that, or wait for it";
    }
    return row;
}

} // namespace dockdist
