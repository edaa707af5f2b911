// The part of NCCL's C API that the probe uses, as its public documentation gives it ("NCCL API" in the user
// guide, nccl.h). Declared here so that it builds without NCCL; tests/probe/abi.cpp compares it with nccl.h
// where that is installed.
#pragma once

#include "probe/cuda_api.hpp"
#include "probe/library.hpp"

#include <cstddef>

namespace dockdist::probe {

using NcclCode = int; // ncclResult_t
inline constexpr NcclCode nccl_success = 0;
inline constexpr NcclCode nccl_remote_error = 6;
inline constexpr NcclCode nccl_in_progress = 7;

using NcclType = int; // ncclDataType_t
inline constexpr NcclType nccl_int64 = 4;
inline constexpr NcclType nccl_float32 = 7;
inline constexpr NcclType nccl_bfloat16 = 9; // from 2.10 on

using NcclReduction = int; // ncclRedOp_t
inline constexpr NcclReduction nccl_sum = 0;
inline constexpr NcclReduction nccl_min = 3;

using NcclComm = void*; // ncclComm_t

struct NcclUniqueId {
    char bytes[128] = {};
};

// ncclConfig_t as NCCL 2.14 had it: later ones are longer, and take a shorter one by its size and version.
struct NcclConfig {
    std::size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400; // NCCL_VERSION(2, 14, 0)
    int blocking = 0;
};

struct NcclApi {
    NcclCode (*version)(int* version) = nullptr;
    NcclCode (*unique_id)(NcclUniqueId* id) = nullptr;
    NcclCode (*init)(NcclComm* comm, int ranks, NcclUniqueId id, int rank) = nullptr;
    // From 2.14 on; without them the calls block, and only the watchdog ends one that hangs.
    NcclCode (*init_config)(NcclComm* comm, int ranks, NcclUniqueId id, int rank,
                            NcclConfig* config) = nullptr;
    NcclCode (*finalize)(NcclComm comm) = nullptr;
    const char* (*last_error)(NcclComm comm) = nullptr; // from 2.13 on

    NcclCode (*destroy)(NcclComm comm) = nullptr;
    NcclCode (*abort)(NcclComm comm) = nullptr;
    NcclCode (*async_error)(NcclComm comm, NcclCode* code) = nullptr;
    const char* (*error_string)(NcclCode code) = nullptr;
    NcclCode (*all_reduce)(const void* send, void* receive, std::size_t count, NcclType type,
                           NcclReduction reduction, NcclComm comm, CudaStream stream) = nullptr;
    NcclCode (*all_gather)(const void* send, void* receive, std::size_t send_count, NcclType type,
                           NcclComm comm, CudaStream stream) = nullptr;
    NcclCode (*reduce_scatter)(const void* send, void* receive, std::size_t receive_count, NcclType type,
                               NcclReduction reduction, NcclComm comm, CudaStream stream) = nullptr;
    NcclCode (*broadcast)(const void* send, void* receive, std::size_t count, NcclType type, int root,
                          NcclComm comm, CudaStream stream) = nullptr;
    NcclCode (*send)(const void* buffer, std::size_t count, NcclType type, int peer, NcclComm comm,
                     CudaStream stream) = nullptr;
    NcclCode (*receive)(void* buffer, std::size_t count, NcclType type, int peer, NcclComm comm,
                        CudaStream stream) = nullptr;
    NcclCode (*group_start)() = nullptr;
    NcclCode (*group_end)() = nullptr;

    std::string path{}; // of the library
    int code = 0;       // its version: 22104
};

// "2.21.4"; versions before 2.9 had another form, 2708.
std::string nccl_version_text(int code);

// ErrorKind::not_found where there is no NCCL, or one from before 2.10, which has no bf16.
Result<NcclApi> open_nccl(const std::vector<std::string>& paths, const char* name = "libnccl.so.2");

} // namespace dockdist::probe
