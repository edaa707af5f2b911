#include "probe/cuda_api.hpp"

namespace dockdist::probe {

Result<CudaApi> open_cuda(const std::vector<std::string>& paths) {
    const auto library = Library::open("libcuda.so.1", paths);
    TRY(library);
    CudaApi api;
    std::vector<std::string> missing;
    const auto need = [&](auto& function, const char* name) { library->need(function, name, missing); };
    need(api.init, "cuInit");
    need(api.driver_version, "cuDriverGetVersion");
    need(api.error_string, "cuGetErrorString");
    need(api.device_count, "cuDeviceGetCount");
    need(api.device, "cuDeviceGet");
    need(api.device_name, "cuDeviceGetName");
    need(api.device_pci, "cuDeviceGetPCIBusId");
    need(api.retain_context, "cuDevicePrimaryCtxRetain");
    need(api.set_context, "cuCtxSetCurrent");
    need(api.memory_info, "cuMemGetInfo_v2");
    need(api.allocate, "cuMemAlloc_v2");
    need(api.allocate_host, "cuMemAllocHost_v2");
    need(api.to_device, "cuMemcpyHtoD_v2");
    need(api.to_host, "cuMemcpyDtoH_v2");
    need(api.on_device, "cuMemcpyDtoD_v2");
    need(api.fill, "cuMemsetD8_v2");
    need(api.synchronize, "cuCtxSynchronize");
    need(api.create_stream, "cuStreamCreate");
    need(api.query_stream, "cuStreamQuery");
    need(api.create_event, "cuEventCreate");
    need(api.record_event, "cuEventRecord");
    need(api.elapsed, "cuEventElapsedTime");
    if (!missing.empty()) {
        return Error{.kind = ErrorKind::not_found,
                     .message = library->path() + " has no " + missing.front(),
                     .hint = "it is not a CUDA driver, or one from before CUDA 7"};
    }
    api.path = library->path();
    return api;
}

} // namespace dockdist::probe
