#include "probe/run.hpp"

#include "probe/debug_log.hpp"
#include "probe/hip_api.hpp"
#include "probe/library_paths.hpp"
#include "probe/measure.hpp"
#include "probe/nccl_log.hpp"
#include "probe/order.hpp"
#include "probe/series.hpp"
#include "probe/size_plan.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

namespace dockdist::probe {
namespace {

using nlohmann::json;

std::string where(const Order& order) {
    return "rank " + std::to_string(order.rank) + " of " + std::to_string(order.world_size);
}

std::string words(Operation operation, DataType type, std::uint64_t bytes) {
    return std::string(to_string(operation)) + " of " + std::to_string(bytes) + " bytes of " +
           std::string(to_string(type));
}

json measurement_line(const Measurement& measured, const Order& order) {
    const auto bandwidth =
        bandwidth_of(measured.operation, measured.bytes, measured.seconds, order.world_size);
    json line{{"type", "measurement"},
              {"operation", to_string(measured.operation)},
              {"data_type", to_string(measured.type)},
              {"bytes", measured.bytes},
              {"iterations", measured.iterations},
              {"time_us", measured.seconds * 1e6},
              {"least_us", measured.least_seconds * 1e6},
              {"algorithm_gbps", bandwidth.algorithm},
              {"bus_gbps", bandwidth.bus},
              {"kind", order.world_size < 2 ? "copy" : "collective"},
              {"checked", measured.checked},
              {"wrong", measured.mismatch.wrong}};
    if (measured.mismatch.wrong != 0) {
        // The value that was found may be no number, which JSON cannot say.
        const auto got = static_cast<double>(measured.mismatch.got);
        line["first_wrong"] = {{"index", measured.mismatch.index}, {"expected", measured.mismatch.expected}};
        line["first_wrong"]["got"] = got - got == 0 ? json(got) : json("not a number");
    }
    return line;
}

Error wrong_elements(const Measurement& measured) {
    const auto& mismatch = measured.mismatch;
    return Error{.kind = ErrorKind::node,
                 .message = words(measured.operation, measured.type, measured.bytes) + ": " +
                            std::to_string(mismatch.wrong) + " of " + std::to_string(measured.checked) +
                            " elements are wrong, the first one at index " + std::to_string(mismatch.index) +
                            ": expected " + std::to_string(static_cast<long long>(mismatch.expected)) +
                            ", got " + std::to_string(static_cast<double>(mismatch.got)),
                 .hint =
                     "a GPU's memory, NVLink or NIC corrupts data, or NCCL or the driver has a bug: look at "
                     "the ECC counters "
                     "(nvidia-smi -q -d ECC) and at NVLink's (nvidia-smi nvlink -e), and leave this GPU out"};
}

class Probe {
public:
    Probe(Output& output, Control& control) : output_(output), control_(control) {}

    Status run(const Paths& paths);
    int finish(const Status& status);

private:
    Status open_libraries(const Paths& paths);
    Status open_communicator();
    Status measure_all();
    Result<Buffers> allocate() const;
    Result<Measurement> measure_one(Bench& bench, Series& series, Operation operation, DataType type,
                                    std::uint64_t bytes, std::uint64_t number, const Buffers& buffers);

    Output& output_;
    Control& control_;
    Order order_{};
    DebugLog log_{};
    NcclApi nccl_{};
    std::optional<Gpu> gpu_{};
    std::optional<Communicator> communicator_{};
    int measurements_ = 0;
    std::vector<std::uint64_t> left_out_{};
    std::set<std::uint64_t> too_slow_{};
    std::optional<Error> wrong_{};
};

Status Probe::open_libraries(const Paths& paths) {
    const auto settings = own_search_settings();
    control_.doing("opening libcuda.so.1");
    auto cuda = is_hip(paths.cuda)
                    ? open_hip({paths.cuda})
                    : open_cuda(paths.cuda.empty() ? cuda_paths(settings) : std::vector{paths.cuda});
    if (!cuda && paths.cuda.empty()) {
        if (auto hip = open_hip(hip_paths(settings, list_folder))) { // else there is nothing of AMD's either
            cuda = std::move(hip);
        }
    }
    TRY(cuda);
    const auto cuda_path = cuda->path;
    const auto* const library = cuda->hip ? "librccl.so.1" : "libnccl.so.2";
    control_.doing("opening " + std::string(library));
    const auto found = cuda->hip ? rccl_paths(settings, list_folder) : nccl_paths(settings, list_folder);
    auto nccl = open_nccl(paths.nccl.empty() ? found : std::vector{paths.nccl}, library);
    TRY(nccl);
    nccl_ = std::move(*nccl);
    control_.doing("opening GPU " + std::to_string(order_.device));
    auto gpu = Gpu::open(std::move(*cuda), order_.device);
    TRY(gpu);
    gpu_ = std::move(*gpu);
    const auto free = gpu_->free_memory();
    TRY(free);
    const auto driver =
        std::to_string(gpu_->driver() / 1000) + "." + std::to_string(gpu_->driver() % 1000 / 10);
    output_.line({{"type", "device"},
                  {"name", gpu_->name()},
                  {"pci", gpu_->pci()},
                  {"memory_bytes", gpu_->memory()},
                  {"free_bytes", *free},
                  {"driver", driver},
                  {"nccl", nccl_version_text(nccl_.code)},
                  {"libcuda", cuda_path},
                  {"libnccl", nccl_.path}});
    return ok;
}

Status Probe::open_communicator() {
    communicator_.emplace(nccl_, *gpu_, control_);
    if (!order_.id && order_.rank == 0) {
        control_.doing("ncclGetUniqueId");
        const auto id = communicator_->make_id();
        TRY(id);
        order_.id = *id;
        output_.line({{"type", "id"}, {"id", wire::bytes_to_json({id->bytes, sizeof id->bytes})}});
    }
    if (!order_.id) {
        control_.doing("waiting for rank 0's id");
        const auto line = control_.next_line();
        TRY(line);
        const auto id = parse_id(*line);
        TRY(id);
        order_.id = *id;
    }
    control_.doing("the meeting of all ranks (ncclCommInitRank)");
    return communicator_->open(*order_.id, order_.rank, order_.world_size);
}

// Two buffers for the largest size that is wanted, or as large as the memory allows.
Result<Buffers> Probe::allocate() const {
    const auto free = gpu_->free_memory();
    TRY(free);
    // Where an element a rank is more than the size asked for, it is an element a rank.
    const auto least = static_cast<std::uint64_t>(order_.world_size) * sizeof(float) + 4096;
    auto bytes = std::max(std::min(*std::ranges::max_element(order_.sizes), largest_size(*free)), least);
    for (; bytes >= least; bytes /= 2) {
        const auto send = gpu_->allocate(bytes + least);
        const auto receive = send == 0 ? 0 : gpu_->allocate(bytes + least);
        if (receive != 0) {
            return Buffers{.send = send, .receive = receive, .bytes = bytes};
        }
    }
    return Error{.kind = ErrorKind::node,
                 .message = "the GPU has no memory to spare (" + std::to_string(*free) + " bytes free)",
                 .hint = "what else runs on it? See nvidia-smi"};
}

// What it took decides over the next size, so all ranks agree on it: the slowest one's.
Result<Measurement> Probe::measure_one(Bench& bench, Series& series, Operation operation, DataType type,
                                       std::uint64_t bytes, std::uint64_t number, const Buffers& buffers) {
    control_.doing(words(operation, type, bytes));
    const auto begin = Clock::now();
    auto measured = bench.measure(operation, type, bytes, number, series.iterations_for(bytes));
    if (!measured || order_.series_ms == 0) {
        return measured;
    }
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
    const auto least = communicator_->least(
        Series::most_us - std::min(Series::most_us, static_cast<std::uint64_t>(took)), buffers);
    TRY(least);
    series.took(bytes, Series::most_us - *least);
    return measured;
}

Status Probe::measure_all() {
    if (order_.sizes.empty()) {
        return ok;
    }
    control_.doing("allocating buffers");
    auto buffers = allocate();
    TRY(buffers);
    control_.doing("agreeing on the largest size (ncclAllReduce)");
    const auto limit = communicator_->least(buffers->bytes, *buffers);
    TRY(limit);
    const auto plan = plan_sizes(order_.sizes, *limit);
    left_out_ = plan.left_out;

    const auto staging = gpu_->allocate_host(Bench::staging_bytes);
    TRY(staging);
    auto events = gpu_->make_events(static_cast<std::size_t>(order_.iterations) + 1);
    TRY(events);
    Bench bench(order_, *gpu_, *communicator_, *buffers, *staging, std::move(*events));
    std::uint64_t number = 0;
    for (const auto operation : order_.operations) {
        for (const auto type : order_.types) {
            Series series(order_.iterations, order_.series_ms);
            for (const auto bytes : plan.sizes) {
                if (series.iterations_for(bytes) == 0) {
                    too_slow_.insert(bytes);
                    continue;
                }
                const auto measured = measure_one(bench, series, operation, type, bytes, number++, *buffers);
                TRY(measured);
                ++measurements_;
                output_.line(measurement_line(*measured, order_));
                if (measured->mismatch.wrong != 0 && !wrong_) {
                    wrong_ = wrong_elements(*measured);
                }
            }
        }
    }
    return ok;
}

Status Probe::run(const Paths& paths) {
    const auto line = control_.next_line();
    TRY(line);
    auto order = parse_order(*line);
    TRY(order);
    order_ = std::move(*order);
    control_.set_deadline(where(order_), std::chrono::milliseconds(order_.deadline_ms));
    auto done = open_libraries(paths);
    done = done ? open_communicator() : done;
    done = done ? measure_all() : done;
    if (done) {
        control_.doing("the end (ncclCommFinalize)");
        done = communicator_->close();
    }
    return done;
}

int Probe::finish(const Status& status) {
    const auto log = parse_nccl_log(log_.text());
    auto transports = json::array();
    for (const auto& transport : log.transports) {
        transports.push_back(
            {{"kind", transport.kind}, {"detail", transport.detail}, {"connections", transport.connections}});
    }
    json result{{"type", "result"},
                {"ok", status && !wrong_},
                {"measurements", measurements_},
                {"left_out", left_out_},
                {"too_slow", too_slow_},
                {"network", log.network},
                {"interfaces", log.interfaces},
                {"rdma_devices", log.rdma_devices},
                {"transports", std::move(transports)},
                {"warnings", log.warnings}};
    auto code = 0;
    if (!status || wrong_) {
        auto error = status ? *wrong_ : status.error();
        error.where = where(order_);
        result["error"] = wire::error_to_json(error);
        code = status ? exit_wrong_elements : exit_code(error);
    }
    (void)output_.result(result);
    if (!status && communicator_) {
        // It may hang like what it is to end: the result is out, and the control's thread ends the process.
        control_.end_soon(code);
        communicator_->abort();
    }
    return code;
}

} // namespace

int run_probe(const Paths& paths) {
    static Output output;
    static Control control(output); // its thread goes on until the process ends
    static Probe probe(output, control);
    return probe.finish(probe.run(paths));
}

} // namespace dockdist::probe
