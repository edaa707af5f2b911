// One rank's NCCL communicator. From NCCL 2.14 on none of its calls blocks: each is waited for with an eye on
// the deadline and on NCCL's own errors, so that a peer that died is noticed.
#pragma once

#include "probe/control.hpp"
#include "probe/gpu.hpp"
#include "probe/nccl_api.hpp"
#include "shared/core/result.hpp"
#include "shared/measurement/operation.hpp"

#include <string>

namespace dockdist::probe {

struct Buffers {
    DevicePointer send = 0;
    DevicePointer receive = 0;
    std::uint64_t bytes = 0; // of each
};

class Communicator {
public:
    Communicator(NcclApi api, const Gpu& gpu, Control& control)
        : api_(std::move(api)), gpu_(gpu), control_(control) {}

    Result<NcclUniqueId> make_id() const;
    Status open(const NcclUniqueId& id, int rank, int world_size);

    // Puts one operation onto the GPU's stream; it has begun when this returns, not ended.
    Status start(Operation operation, const Shape& shape, DataType type, const Buffers& buffers);
    // Until all that is on the stream has ended.
    Status wait() const;

    // The least value that any rank brings.
    Result<std::uint64_t> least(std::uint64_t value, const Buffers& buffers);

    Status close();        // says goodbye to the peers
    void abort() noexcept; // lets go of everything, and of a kernel that hangs

private:
    Status settle(NcclCode code, const char* what) const;
    Status check_peers() const;
    Error failure(NcclCode code, const char* what) const;

    NcclApi api_;
    const Gpu& gpu_;
    Control& control_;
    NcclComm comm_ = nullptr;
    int rank_ = 0;
    int world_size_ = 1;
};

} // namespace dockdist::probe
