#include "probe/gpu.hpp"

#include <algorithm>
#include <array>

namespace dockdist::probe {
namespace {

Error cuda_error(const CudaApi& api, CudaCode code, const char* what) {
    const char* text = nullptr;
    (void)api.error_string(code, &text);
    return Error{
        .kind = ErrorKind::node,
        .message = (api.hip ? "HIP's " : "") + std::string(what) + ": " + (text == nullptr ? "error" : text) +
                   (api.hip ? " (HIP " : " (CUDA ") + std::to_string(code) + ")",
        .hint =
            api.hip
                ? "are /dev/kfd and /dev/dri in this container, and may its user open them? What does the "
                  "kernel's log (dmesg) say of amdgpu?"
                : "does nvidia-smi work in this container, and does the kernel's log (dmesg) show an Xid?"};
}

} // namespace

Status Gpu::check(CudaCode code, const char* what) const {
    if (code == cuda_success) {
        return ok;
    }
    return cuda_error(api_, code, what);
}

Result<Gpu> Gpu::open(CudaApi api, int ordinal) {
    Gpu gpu(std::move(api));
    const auto& cuda = gpu.api_;
    int count = 0;
    if (const auto code = cuda.init(0); code != cuda_success) {
        auto error = cuda_error(cuda, code, "cuInit");
        error.kind = ErrorKind::not_found;
        return error;
    }
    TRY(gpu.check(cuda.device_count(&count), "cuDeviceGetCount"));
    if (ordinal >= count) {
        return Error{
            .kind = ErrorKind::not_found,
            .message =
                "there is no GPU " + std::to_string(ordinal) + ": the container has " + std::to_string(count),
            .hint = cuda.hip ? "which GPUs does `dockdist gpus` show, and what is ROCR_VISIBLE_DEVICES?"
                             : "which GPUs does nvidia-smi -L show in it, and what is CUDA_VISIBLE_DEVICES?"};
    }
    CudaDevice device = 0;
    CudaContext context = nullptr;
    std::array<char, 256> name{};
    std::array<char, 32> pci{};
    std::size_t free = 0;
    std::size_t total = 0;
    const std::pair<CudaCode, const char*> steps[] = {
        {cuda.driver_version(&gpu.driver_), "cuDriverGetVersion"},
        {cuda.device(&device, ordinal), "cuDeviceGet"},
        {cuda.device_name(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName"},
        {cuda.device_pci(pci.data(), static_cast<int>(pci.size()) - 1, device), "cuDeviceGetPCIBusId"},
        // The primary context is the one that NCCL, which uses the runtime API, works in.
        {cuda.retain_context(&context, device), "cuDevicePrimaryCtxRetain"},
        {cuda.set_context(context), "cuCtxSetCurrent"},
        {cuda.memory_info(&free, &total), "cuMemGetInfo"},
        {cuda.create_stream(&gpu.stream_, cuda_stream_non_blocking), "cuStreamCreate"},
    };
    for (const auto& [code, what] : steps) {
        TRY(gpu.check(code, what));
    }
    gpu.name_ = name.data();
    gpu.pci_ = pci.data();
    gpu.memory_ = total;
    return gpu;
}

Result<std::uint64_t> Gpu::free_memory() const {
    std::size_t free = 0;
    std::size_t total = 0;
    TRY(check(api_.memory_info(&free, &total), "cuMemGetInfo"));
    return free;
}

DevicePointer Gpu::allocate(std::uint64_t bytes) const {
    DevicePointer memory = 0;
    return api_.allocate(&memory, bytes) == cuda_success ? memory : 0;
}

Result<unsigned char*> Gpu::allocate_host(std::uint64_t bytes) const {
    void* memory = nullptr;
    TRY(check(api_.allocate_host(&memory, bytes), "cuMemAllocHost"));
    return static_cast<unsigned char*>(memory);
}

Status Gpu::to_device(DevicePointer to, const void* from, std::uint64_t bytes) const {
    return check(api_.to_device(to, from, bytes), "cuMemcpyHtoD");
}

Status Gpu::to_host(void* to, DevicePointer from, std::uint64_t bytes) const {
    return check(api_.to_host(to, from, bytes), "cuMemcpyDtoH");
}

Status Gpu::fill(DevicePointer memory, unsigned char byte, std::uint64_t bytes) const {
    if (const auto done = check(api_.fill(memory, byte, bytes), "cuMemsetD8"); !done) {
        return done;
    }
    return check(api_.synchronize(), "cuCtxSynchronize");
}

Status Gpu::repeat(DevicePointer memory, const std::vector<unsigned char>& piece, std::uint64_t bytes) const {
    auto full = std::min<std::uint64_t>(piece.size(), bytes);
    if (const auto done = to_device(memory, piece.data(), full); !done) {
        return done;
    }
    while (full < bytes) {
        // Whole pieces stand before `full`, so that what follows goes on in step.
        const auto more = std::min(full, bytes - full);
        if (const auto done = check(api_.on_device(memory + full, memory, more), "cuMemcpyDtoD"); !done) {
            return done;
        }
        full += more;
    }
    return check(api_.synchronize(), "cuCtxSynchronize");
}

Result<bool> Gpu::stream_is_idle() const {
    const auto code = api_.query_stream(stream_);
    if (code == cuda_not_ready) {
        return false;
    }
    TRY(check(code, "cuStreamQuery"));
    return true;
}

Result<std::vector<CudaEvent>> Gpu::make_events(std::size_t count) const {
    std::vector<CudaEvent> events(count);
    for (auto& event : events) {
        TRY(check(api_.create_event(&event, 0), "cuEventCreate"));
    }
    return events;
}

Status Gpu::record(CudaEvent event) const {
    return check(api_.record_event(event, stream_), "cuEventRecord");
}

Result<double> Gpu::seconds_between(CudaEvent start, CudaEvent end) const {
    float milliseconds = 0;
    TRY(check(api_.elapsed(&milliseconds, start, end), "cuEventElapsedTime"));
    return static_cast<double>(milliseconds) / 1e3;
}

} // namespace dockdist::probe
