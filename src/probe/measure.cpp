#include "probe/measure.hpp"

#include "shared/core/median.hpp"

#include <algorithm>

namespace dockdist::probe {
namespace {

// What a receive buffer holds before it is written: as a float or bf16 it is none of the pattern's values.
constexpr unsigned char unwritten = 0xa5;

} // namespace

Status Bench::run(Operation operation, const Shape& shape, DataType type, int times) {
    for (int i = 0; i < times; ++i) {
        if (const auto done = communicator_.start(operation, shape, type, buffers_); !done) {
            return done;
        }
    }
    return communicator_.wait();
}

Status Bench::time(Operation operation, const Shape& shape, Measurement& measured) {
    if (const auto done = gpu_.record(events_.front()); !done) {
        return done;
    }
    const auto iterations = static_cast<std::size_t>(measured.iterations);
    for (std::size_t i = 1; i <= iterations; ++i) {
        if (const auto done = communicator_.start(operation, shape, measured.type, buffers_); !done) {
            return done;
        }
        if (const auto done = gpu_.record(events_[i]); !done) {
            return done;
        }
    }
    if (const auto done = communicator_.wait(); !done) {
        return done;
    }
    std::vector<double> times;
    for (std::size_t i = 1; i <= iterations; ++i) {
        const auto seconds = gpu_.seconds_between(events_[i - 1], events_[i]);
        TRY(seconds);
        times.push_back(*seconds);
    }
    measured.seconds = median(times);
    measured.least_seconds = std::ranges::min(times);
    return ok;
}

Status Bench::check(const Shape& shape, const Pattern& pattern, Measurement& measured) {
    const auto size = size_of(measured.type);
    const auto room = staging_bytes / size;
    std::uint64_t loaded = 0; // elements: [loaded, loaded_end) of the receive buffer are in staging
    std::uint64_t loaded_end = 0;
    for (const auto& segment : expected_segments(measured.operation, shape, order_.rank, order_.world_size)) {
        const auto expected = segment_bytes(pattern, segment, measured.type);
        for (std::uint64_t done = 0; done < segment.count;) {
            const auto place = segment.place + done;
            if (place >= loaded_end) {
                loaded = place;
                loaded_end = std::min(place + room, shape.receive_count);
                const auto copied =
                    gpu_.to_host(staging_, buffers_.receive + loaded * size, (loaded_end - loaded) * size);
                if (!copied) {
                    return copied;
                }
            }
            const auto count = std::min(segment.count - done, loaded_end - place);
            compare(expected, segment, done, staging_ + (place - loaded) * size, count, measured.type,
                    measured.mismatch);
            done += count;
        }
    }
    measured.checked += shape.receive_count;
    return ok;
}

Result<Measurement> Bench::measure(Operation operation, DataType type, std::uint64_t bytes,
                                   std::uint64_t number, int iterations) {
    const auto shape = shape_of(operation, bytes, order_.world_size, type);
    const Pattern pattern{.world_size = order_.world_size, .salt = number};
    Measurement measured{
        .operation = operation, .type = type, .bytes = shape.bytes, .iterations = iterations};

    const auto pattern_bytes = send_bytes(operation, pattern, order_.rank, shape.send_count, type);
    const auto receive_bytes = shape.receive_count * size_of(type);
    const auto empty = [&] { return gpu_.fill(buffers_.receive, unwritten, receive_bytes); };
    auto done = gpu_.repeat(buffers_.send, pattern_bytes, shape.send_count * size_of(type));
    // The first one is checked by itself, before other iterations could mend what it left out.
    done = done ? empty() : done;
    done = done ? run(operation, shape, type, 1) : done;
    done = done ? check(shape, pattern, measured) : done;
    done = done ? run(operation, shape, type, std::min(order_.warm_up, iterations)) : done;
    done = done ? empty() : done;
    done = done ? time(operation, shape, measured) : done;
    done = done ? check(shape, pattern, measured) : done;
    TRY(done);
    return measured;
}

} // namespace dockdist::probe
