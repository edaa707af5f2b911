#include "shared/measurement/known_good.hpp"

namespace dockdist {
namespace {

// Eight GPUs of one HGX or DGX board. H100 and H200 have the same NVLink: what is not an all_reduce was
// published for the first. The names are whole but for the memory's size: "NVIDIA H100 PCIe", "NVIDIA H200
// NVL" and "NVIDIA H100 NVL" are other machines.
constexpr KnownGood known_good[] = {
    {"NVIDIA A100-SXM4-", true, 200,
     "github.com/NVIDIA/nccl-tests/issues/149 (8 A100-SXM4-80GB, NCCL 2.18: about 200)"},
    {"NVIDIA H100 80GB HBM3", true, 480,
     "github.com/NVIDIA/nccl-tests/issues/212 (NCCL's author: peak about 480)"},
    {"NVIDIA H100 80GB HBM3", false, 370,
     "github.com/NVIDIA/nccl-tests/issues/212 (without NVLink SHARP: 370)"},
    {"NVIDIA H200", true, 475, "github.com/NVIDIA/nccl-tests/issues/272 (8 H200, NCCL 2.20.3: peak 475)"},
    {"NVIDIA H200", false, 370, "github.com/NVIDIA/nccl-tests/issues/212 (the H100's: the same NVLink)"},
};

bool is_that(std::string_view gpu, std::string_view name) {
    return name.back() == '-' ? gpu.starts_with(name) : gpu == name;
}

bool has_measurement(const KnownGood& known, Operation operation) {
    // all_to_all and broadcast have other patterns, for which nobody published a measurement.
    return known.all_reduce ? operation == Operation::all_reduce
                            : operation == Operation::all_gather || operation == Operation::reduce_scatter;
}

} // namespace

Grading grade(std::string_view gpu, Operation operation, int gpus, std::uint64_t bytes,
              double bus_bandwidth) {
    if (gpus != graded_gpus || bytes < graded_from) {
        return {};
    }
    for (const auto& known : known_good) {
        if (is_that(gpu, known.gpu) && has_measurement(known, operation)) {
            const auto share = bus_bandwidth / known.bus_bandwidth;
            const auto verdict = share >= 0.9 ? Grade::pass : share >= 0.75 ? Grade::warn : Grade::fail;
            return {.grade = verdict, .known = &known};
        }
    }
    return {};
}

} // namespace dockdist
