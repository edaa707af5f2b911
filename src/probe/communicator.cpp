#include "probe/communicator.hpp"

#include <poll.h>
#include <sched.h>

namespace dockdist::probe {
namespace {

// NCCL and the stream are asked all the time at first, then every millisecond: short operations end within
// the first.
class Pace {
public:
    void step() {
        if (++steps_ < 2000) {
            sched_yield();
        } else {
            (void)poll(nullptr, 0, 1);
        }
    }

private:
    int steps_ = 0;
};

NcclType nccl_type(DataType type) {
    return type == DataType::float32 ? nccl_float32 : nccl_bfloat16;
}

// CUDA's own addresses, which the driver API tells as numbers.
const void* at(DevicePointer memory, std::uint64_t offset = 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const void*>(memory + offset);
}

void* into(DevicePointer memory, std::uint64_t offset = 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(memory + offset);
}

} // namespace

Error Communicator::failure(NcclCode code, const char* what) const {
    std::string message =
        std::string(what) + ": " + api_.error_string(code) + " (NCCL " + std::to_string(code) + ")";
    const char* more = api_.last_error == nullptr ? nullptr : api_.last_error(comm_);
    if (more != nullptr && *more != '\0') {
        message += std::string(": ") + more;
    }
    return Error{.kind = ErrorKind::node,
                 .message = std::move(message),
                 .hint = code == nccl_remote_error ? "another rank died or lost its connection: the error of "
                                                     "the rank that ended first is the cause"
                                                   : "the result's warnings are what NCCL itself said"};
}

Status Communicator::check_peers() const {
    NcclCode state = nccl_success;
    if (const auto code = api_.async_error(comm_, &state); code != nccl_success) {
        return failure(code, "ncclCommGetAsyncError");
    }
    if (state != nccl_success && state != nccl_in_progress) {
        return failure(state, "NCCL");
    }
    return ok;
}

Status Communicator::settle(NcclCode code, const char* what) const {
    for (Pace pace; code == nccl_in_progress; pace.step()) {
        if (control_.late()) {
            return control_.lateness();
        }
        if (const auto asked = api_.async_error(comm_, &code); asked != nccl_success) {
            return failure(asked, what);
        }
    }
    if (code != nccl_success) {
        return failure(code, what);
    }
    return ok;
}

Status Communicator::wait() const {
    for (Pace pace;; pace.step()) {
        const auto idle = gpu_.stream_is_idle();
        TRY(idle);
        if (*idle) {
            return ok;
        }
        if (const auto sound = check_peers(); !sound) {
            return sound;
        }
        if (control_.late()) {
            return control_.lateness();
        }
    }
}

Result<NcclUniqueId> Communicator::make_id() const {
    NcclUniqueId id;
    if (const auto code = api_.unique_id(&id); code != nccl_success) {
        return failure(code, "ncclGetUniqueId");
    }
    return id;
}

Status Communicator::open(const NcclUniqueId& id, int rank, int world_size) {
    rank_ = rank;
    world_size_ = world_size;
    if (api_.init_config == nullptr) {
        return settle(api_.init(&comm_, world_size, id, rank), "ncclCommInitRank");
    }
    NcclConfig config;
    return settle(api_.init_config(&comm_, world_size, id, rank, &config), "ncclCommInitRankConfig");
}

Status Communicator::start(Operation operation, const Shape& shape, DataType type, const Buffers& buffers) {
    const auto kind = nccl_type(type);
    const auto* send = at(buffers.send);
    auto* receive = into(buffers.receive);
    auto* stream = gpu_.stream();
    switch (operation) {
    case Operation::all_reduce:
        return settle(api_.all_reduce(send, receive, shape.send_count, kind, nccl_sum, comm_, stream),
                      "ncclAllReduce");
    case Operation::all_gather:
        return settle(api_.all_gather(send, receive, shape.send_count, kind, comm_, stream), "ncclAllGather");
    case Operation::reduce_scatter:
        return settle(api_.reduce_scatter(send, receive, shape.receive_count, kind, nccl_sum, comm_, stream),
                      "ncclReduceScatter");
    case Operation::broadcast:
        return settle(api_.broadcast(send, receive, shape.send_count, kind, 0, comm_, stream),
                      "ncclBroadcast");
    case Operation::all_to_all:
    case Operation::send_receive:
        break;
    }
    auto code = api_.group_start();
    const auto add = [&](NcclCode next) {
        code = code == nccl_success || code == nccl_in_progress ? next : code;
    };
    if (operation == Operation::send_receive) {
        add(api_.send(send, shape.send_count, kind, (rank_ + 1) % world_size_, comm_, stream));
        add(api_.receive(receive, shape.receive_count, kind, (rank_ + world_size_ - 1) % world_size_, comm_,
                         stream));
    } else {
        const auto block = shape.block_count * size_of(type);
        for (int peer = 0; peer < world_size_; ++peer) {
            const auto offset = static_cast<std::uint64_t>(peer) * block;
            add(api_.send(at(buffers.send, offset), shape.block_count, kind, peer, comm_, stream));
            add(api_.receive(into(buffers.receive, offset), shape.block_count, kind, peer, comm_, stream));
        }
    }
    const auto ended = api_.group_end();
    if (code != nccl_success && code != nccl_in_progress) {
        return failure(code, "ncclSend");
    }
    return settle(ended, "ncclGroupEnd");
}

Result<std::uint64_t> Communicator::least(std::uint64_t value, const Buffers& buffers) {
    auto number = static_cast<std::int64_t>(value);
    TRY(gpu_.to_device(buffers.send, &number, sizeof number));
    const auto code = api_.all_reduce(at(buffers.send), into(buffers.receive), 1, nccl_int64, nccl_min, comm_,
                                      gpu_.stream());
    TRY(settle(code, "ncclAllReduce"));
    TRY(wait());
    TRY(gpu_.to_host(&number, buffers.receive, sizeof number));
    return static_cast<std::uint64_t>(number);
}

Status Communicator::close() {
    if (api_.finalize != nullptr && api_.init_config != nullptr) {
        if (const auto done = settle(api_.finalize(comm_), "ncclCommFinalize"); !done) {
            return done;
        }
    }
    auto* comm = comm_;
    comm_ = nullptr;
    if (const auto code = api_.destroy(comm); code != nccl_success) {
        return failure(code, "ncclCommDestroy");
    }
    return ok;
}

void Communicator::abort() noexcept {
    if (comm_ != nullptr) {
        (void)api_.abort(comm_);
        comm_ = nullptr;
    }
}

} // namespace dockdist::probe
