#include "shared/measurement/operation.hpp"

#include <algorithm>

namespace dockdist {

std::string_view to_string(Operation operation) {
    switch (operation) {
    case Operation::all_reduce:
        return "all_reduce";
    case Operation::all_gather:
        return "all_gather";
    case Operation::reduce_scatter:
        return "reduce_scatter";
    case Operation::broadcast:
        return "broadcast";
    case Operation::all_to_all:
        return "all_to_all";
    case Operation::send_receive:
        return "send_receive";
    }
    return "";
}

std::optional<Operation> parse_operation(std::string_view name) {
    for (const auto operation : every_operation) {
        if (to_string(operation) == name) {
            return operation;
        }
    }
    return std::nullopt;
}

bool sums(Operation operation) {
    return operation == Operation::all_reduce || operation == Operation::reduce_scatter;
}

std::string_view to_string(DataType type) {
    return type == DataType::float32 ? "float" : "bf16";
}

std::optional<DataType> parse_data_type(std::string_view name) {
    for (const auto type : {DataType::float32, DataType::bfloat16}) {
        if (to_string(type) == name) {
            return type;
        }
    }
    return std::nullopt;
}

std::uint64_t size_of(DataType type) {
    return type == DataType::float32 ? 4 : 2;
}

Shape shape_of(Operation operation, std::uint64_t bytes, int world_size, DataType type) {
    const auto ranks = static_cast<std::uint64_t>(world_size);
    const auto block = std::max<std::uint64_t>(bytes / size_of(type) / ranks, 1);
    const auto all = block * ranks;
    const auto size = all * size_of(type);
    switch (operation) {
    case Operation::all_gather:
        return {.send_count = block, .receive_count = all, .block_count = block, .bytes = size};
    case Operation::reduce_scatter:
        return {.send_count = all, .receive_count = block, .block_count = block, .bytes = size};
    case Operation::all_to_all:
        return {.send_count = all, .receive_count = all, .block_count = block, .bytes = size};
    case Operation::all_reduce:
    case Operation::broadcast:
    case Operation::send_receive:
        break;
    }
    const auto whole = std::max<std::uint64_t>(bytes / size_of(type), 1);
    return {
        .send_count = whole, .receive_count = whole, .block_count = whole, .bytes = whole * size_of(type)};
}

Bandwidth bandwidth_of(Operation operation, std::uint64_t bytes, double seconds, int world_size) {
    if (seconds <= 0) {
        return {};
    }
    const auto ranks = static_cast<double>(world_size);
    const auto algorithm = static_cast<double>(bytes) / seconds / 1e9;
    double factor = 1; // broadcast and point to point
    if (operation == Operation::all_reduce) {
        factor = 2 * (ranks - 1) / ranks;
    } else if (operation == Operation::all_gather || operation == Operation::reduce_scatter ||
               operation == Operation::all_to_all) {
        factor = (ranks - 1) / ranks;
    }
    return {.algorithm = algorithm, .bus = world_size < 2 ? 0 : algorithm * factor};
}

} // namespace dockdist
