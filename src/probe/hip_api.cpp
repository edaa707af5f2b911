#include "probe/hip_api.hpp"

namespace dockdist::probe {
namespace {

// Two calls have another shape, and contexts are deprecated: a device is set as such.
const char* (*hip_error_string)(CudaCode code) = nullptr;
CudaCode (*hip_set_device)(int device) = nullptr;
int context_device = 0; // a process has one

CudaCode error_string_of_hip(CudaCode code, const char** text) {
    *text = hip_error_string(code);
    return cuda_success;
}

CudaCode context_of_hip(CudaContext* context, CudaDevice device) {
    context_device = device;
    *context = &context_device;
    return cuda_success;
}

CudaCode set_context_of_hip(CudaContext context) {
    return hip_set_device(*static_cast<const int*>(context));
}

} // namespace

Result<CudaApi> open_hip(const std::vector<std::string>& paths) {
    const auto library = Library::open("libamdhip64.so", paths);
    TRY(library);
    CudaApi api{.error_string = error_string_of_hip,
                .retain_context = context_of_hip,
                .set_context = set_context_of_hip,
                .hip = true};
    std::vector<std::string> missing;
    const auto need = [&](auto& function, const char* name) { library->need(function, name, missing); };
    need(hip_error_string, "hipGetErrorString");
    need(hip_set_device, "hipSetDevice");
    need(api.init, "hipInit");
    need(api.driver_version, "hipDriverGetVersion");
    need(api.device_count, "hipGetDeviceCount");
    need(api.device, "hipDeviceGet");
    need(api.device_name, "hipDeviceGetName");
    need(api.device_pci, "hipDeviceGetPCIBusId");
    need(api.memory_info, "hipMemGetInfo");
    need(api.allocate, "hipMalloc");
    need(api.allocate_host, "hipMallocHost");
    need(api.to_device, "hipMemcpyHtoD");
    need(api.to_host, "hipMemcpyDtoH");
    need(api.on_device, "hipMemcpyDtoD");
    need(api.fill, "hipMemsetD8");
    need(api.synchronize, "hipDeviceSynchronize");
    need(api.create_stream, "hipStreamCreateWithFlags");
    need(api.query_stream, "hipStreamQuery");
    need(api.create_event, "hipEventCreateWithFlags");
    need(api.record_event, "hipEventRecord");
    need(api.elapsed, "hipEventElapsedTime");
    if (!missing.empty()) {
        return Error{.kind = ErrorKind::not_found,
                     .message = library->path() + " has no " + missing.front(),
                     .hint = "it is not HIP's library, or one from before ROCm 5"};
    }
    api.path = library->path();
    return api;
}

bool is_hip(std::string_view path) {
    return path.substr(path.rfind('/') + 1).starts_with("libamdhip64.so");
}

} // namespace dockdist::probe
