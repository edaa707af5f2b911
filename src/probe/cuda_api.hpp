// The part of the CUDA driver API that the probe uses, as its public documentation gives it ("CUDA Driver
// API" reference manual, cuda.h; the exported names bear the version of their ABI). Declared here so that it
// builds without CUDA; tests/probe/abi.cpp compares it with cuda.h where that is installed.
#pragma once

#include "probe/library.hpp"

#include <cstddef>

namespace dockdist::probe {

using CudaCode = int;                     // CUresult
using CudaDevice = int;                   // CUdevice
using DevicePointer = unsigned long long; // CUdeviceptr
using CudaContext = void*;                // CUcontext
using CudaStream = void*;                 // CUstream, which NCCL takes as a cudaStream_t
using CudaEvent = void*;                  // CUevent

inline constexpr CudaCode cuda_success = 0;
inline constexpr CudaCode cuda_not_ready = 600;         // CUDA_ERROR_NOT_READY
inline constexpr unsigned cuda_stream_non_blocking = 1; // CU_STREAM_NON_BLOCKING

struct CudaApi {
    CudaCode (*init)(unsigned flags) = nullptr;
    CudaCode (*driver_version)(int* version) = nullptr;
    CudaCode (*error_string)(CudaCode code, const char** text) = nullptr;
    CudaCode (*device_count)(int* count) = nullptr;
    CudaCode (*device)(CudaDevice* device, int ordinal) = nullptr;
    CudaCode (*device_name)(char* name, int length, CudaDevice device) = nullptr;
    CudaCode (*device_pci)(char* id, int length, CudaDevice device) = nullptr;
    CudaCode (*retain_context)(CudaContext* context, CudaDevice device) = nullptr;
    CudaCode (*set_context)(CudaContext context) = nullptr;
    CudaCode (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
    CudaCode (*allocate)(DevicePointer* memory, std::size_t bytes) = nullptr;
    CudaCode (*allocate_host)(void** memory, std::size_t bytes) = nullptr;
    CudaCode (*to_device)(DevicePointer to, const void* from, std::size_t bytes) = nullptr;
    CudaCode (*to_host)(void* to, DevicePointer from, std::size_t bytes) = nullptr;
    CudaCode (*on_device)(DevicePointer to, DevicePointer from, std::size_t bytes) = nullptr;
    CudaCode (*fill)(DevicePointer memory, unsigned char byte, std::size_t bytes) = nullptr;
    CudaCode (*synchronize)() = nullptr;
    CudaCode (*create_stream)(CudaStream* stream, unsigned flags) = nullptr;
    CudaCode (*query_stream)(CudaStream stream) = nullptr;
    CudaCode (*create_event)(CudaEvent* event, unsigned flags) = nullptr;
    CudaCode (*record_event)(CudaEvent event, CudaStream stream) = nullptr;
    CudaCode (*elapsed)(float* milliseconds, CudaEvent start, CudaEvent end) = nullptr;

    std::string path{}; // of the library
    bool hip = false;   // these are HIP's functions, probe/hip_api.hpp
};

// ErrorKind::not_found where there is no driver, or functions are missing in it.
Result<CudaApi> open_cuda(const std::vector<std::string>& paths);

} // namespace dockdist::probe
