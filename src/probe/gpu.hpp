// One GPU, by the CUDA driver API. Everything is done by the thread that opened it.
#pragma once

#include "probe/cuda_api.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::probe {

class Gpu {
public:
    // ErrorKind::not_found where the container has no GPU of that number.
    static Result<Gpu> open(CudaApi api, int ordinal);

    const std::string& name() const { return name_; }
    const std::string& pci() const { return pci_; }
    int driver() const { return driver_; } // the newest CUDA that the driver knows: 12040 is 12.4
    std::uint64_t memory() const { return memory_; }
    CudaStream stream() const { return stream_; }

    Result<std::uint64_t> free_memory() const;
    // 0 where the memory does not suffice.
    DevicePointer allocate(std::uint64_t bytes) const;
    Result<unsigned char*> allocate_host(std::uint64_t bytes) const; // page-locked

    // These wait until it is done.
    Status to_device(DevicePointer to, const void* from, std::uint64_t bytes) const;
    Status to_host(void* to, DevicePointer from, std::uint64_t bytes) const;
    Status fill(DevicePointer memory, unsigned char byte, std::uint64_t bytes) const;
    // Writes `piece` again and again, until `bytes` are full.
    Status repeat(DevicePointer memory, const std::vector<unsigned char>& piece, std::uint64_t bytes) const;

    Result<bool> stream_is_idle() const;
    Result<std::vector<CudaEvent>> make_events(std::size_t count) const;
    Status record(CudaEvent event) const; // at this point of the stream
    Result<double> seconds_between(CudaEvent start, CudaEvent end) const;

private:
    explicit Gpu(CudaApi api) : api_(std::move(api)) {}
    Status check(CudaCode code, const char* what) const;

    CudaApi api_;
    std::string name_{};
    std::string pci_{};
    int driver_ = 0;
    std::uint64_t memory_ = 0;
    CudaStream stream_ = nullptr;
};

} // namespace dockdist::probe
