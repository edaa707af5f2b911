// The declarations in src/probe/cuda_api.hpp and nccl_api.hpp against NVIDIA's own: the same number of
// arguments, each passed in the same way. Compiling is the test.
#include "probe/cuda_api.hpp"
#include "probe/nccl_api.hpp"

#include <cuda.h>
#include <nccl.h>
#include <type_traits>

namespace {

using dockdist::probe::CudaApi;
using dockdist::probe::NcclApi;
using dockdist::probe::NcclConfig;
using dockdist::probe::NcclUniqueId;

// Pointers, integers with enums, floats and structs: what the calling convention tells apart.
template <class A, class B>
constexpr bool same_passing =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
    std::is_class_v<A> == std::is_class_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class R, class... A, class S, class... B>
    requires(sizeof...(A) == sizeof...(B))
struct Same<R (*)(A...), S (*)(B...)>
    : std::bool_constant<same_passing<R, S> && (same_passing<A, B> && ...)> {};

#define SAME(api, member, function) static_assert(Same<decltype(api::member), decltype(&function)>::value)

SAME(CudaApi, init, cuInit);
SAME(CudaApi, driver_version, cuDriverGetVersion);
SAME(CudaApi, error_string, cuGetErrorString);
SAME(CudaApi, device_count, cuDeviceGetCount);
SAME(CudaApi, device, cuDeviceGet);
SAME(CudaApi, device_name, cuDeviceGetName);
SAME(CudaApi, device_pci, cuDeviceGetPCIBusId);
SAME(CudaApi, retain_context, cuDevicePrimaryCtxRetain);
SAME(CudaApi, set_context, cuCtxSetCurrent);
SAME(CudaApi, memory_info, cuMemGetInfo);
SAME(CudaApi, allocate, cuMemAlloc);
SAME(CudaApi, allocate_host, cuMemAllocHost);
SAME(CudaApi, to_device, cuMemcpyHtoD);
SAME(CudaApi, to_host, cuMemcpyDtoH);
SAME(CudaApi, on_device, cuMemcpyDtoD);
SAME(CudaApi, fill, cuMemsetD8);
SAME(CudaApi, synchronize, cuCtxSynchronize);
SAME(CudaApi, create_stream, cuStreamCreate);
SAME(CudaApi, query_stream, cuStreamQuery);
SAME(CudaApi, create_event, cuEventCreate);
SAME(CudaApi, record_event, cuEventRecord);
SAME(CudaApi, elapsed, cuEventElapsedTime);
static_assert(dockdist::probe::cuda_success == CUDA_SUCCESS &&
              dockdist::probe::cuda_not_ready == CUDA_ERROR_NOT_READY);
static_assert(dockdist::probe::cuda_stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(std::is_same_v<dockdist::probe::DevicePointer, CUdeviceptr>);

SAME(NcclApi, version, ncclGetVersion);
SAME(NcclApi, unique_id, ncclGetUniqueId);
SAME(NcclApi, init, ncclCommInitRank);
SAME(NcclApi, init_config, ncclCommInitRankConfig);
SAME(NcclApi, finalize, ncclCommFinalize);
SAME(NcclApi, last_error, ncclGetLastError);
SAME(NcclApi, destroy, ncclCommDestroy);
SAME(NcclApi, abort, ncclCommAbort);
SAME(NcclApi, async_error, ncclCommGetAsyncError);
SAME(NcclApi, error_string, ncclGetErrorString);
SAME(NcclApi, all_reduce, ncclAllReduce);
SAME(NcclApi, all_gather, ncclAllGather);
SAME(NcclApi, reduce_scatter, ncclReduceScatter);
SAME(NcclApi, broadcast, ncclBroadcast);
SAME(NcclApi, send, ncclSend);
SAME(NcclApi, receive, ncclRecv);
SAME(NcclApi, group_start, ncclGroupStart);
SAME(NcclApi, group_end, ncclGroupEnd);
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking) &&
              sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(dockdist::probe::nccl_success == ncclSuccess &&
              dockdist::probe::nccl_remote_error == ncclRemoteError &&
              dockdist::probe::nccl_in_progress == ncclInProgress);
static_assert(dockdist::probe::nccl_int64 == ncclInt64 && dockdist::probe::nccl_float32 == ncclFloat32 &&
              dockdist::probe::nccl_bfloat16 == ncclBfloat16);
static_assert(dockdist::probe::nccl_sum == ncclSum && dockdist::probe::nccl_min == ncclMin);

} // namespace
