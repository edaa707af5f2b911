// One measurement: an operation, a data type, a size. Every element of its result is checked, before the
// timed iterations and after them.
#pragma once

#include "probe/communicator.hpp"
#include "probe/order.hpp"
#include "probe/pattern.hpp"
#include "shared/core/result.hpp"

namespace dockdist::probe {

struct Measurement {
    Operation operation{};
    DataType type{};
    std::uint64_t bytes = 0; // as rounded to whole elements
    int iterations = 0;
    double seconds = 0; // the median of the iterations
    double least_seconds = 0;
    std::uint64_t checked = 0; // elements
    Mismatch mismatch{};
};

class Bench {
public:
    static constexpr std::uint64_t staging_bytes = 16U << 20U;

    Bench(const Order& order, const Gpu& gpu, Communicator& communicator, Buffers buffers,
          unsigned char* staging,
          std::vector<CudaEvent> events) // iterations + 1
        : order_(order), gpu_(gpu), communicator_(communicator), buffers_(buffers), staging_(staging),
          events_(std::move(events)) {}

    // `number` differs from measurement to measurement and is the same on all ranks, as are the iterations.
    Result<Measurement> measure(Operation operation, DataType type, std::uint64_t bytes, std::uint64_t number,
                                int iterations);

private:
    Status run(Operation operation, const Shape& shape, DataType type, int times);
    Status time(Operation operation, const Shape& shape, Measurement& measured);
    Status check(const Shape& shape, const Pattern& pattern, Measurement& measured);

    const Order& order_;
    const Gpu& gpu_;
    Communicator& communicator_;
    Buffers buffers_;
    unsigned char* staging_;
    std::vector<CudaEvent> events_;
};

} // namespace dockdist::probe
