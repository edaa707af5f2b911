#include "probe/order.hpp"

#include "probe/size_plan.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cstring>

namespace dockdist::probe {
namespace {

using nlohmann::json;

constexpr std::int64_t most_ranks = 1 << 20;
constexpr std::int64_t most_bytes = std::int64_t{1} << 42;
constexpr int most_iterations = 10000;

void read_sizes(const json& object, wire::ObjectReader& reader, Order& order) {
    std::int64_t first = 1024;
    std::int64_t last = std::int64_t{8} << 30;
    std::int64_t factor = 4;
    reader.read("first_bytes", first);
    reader.read("last_bytes", last);
    reader.read("factor", factor);
    if (!object.contains("sizes")) {
        if (first < 1 || last < first || last > most_bytes || factor < 2) {
            reader.fail("first_bytes, last_bytes and factor make no series of sizes");
            return;
        }
        order.sizes = sizes_between(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last),
                                    static_cast<std::uint64_t>(factor));
        return;
    }
    const auto* sizes = reader.array("sizes");
    if (sizes == nullptr) {
        return;
    }
    for (const auto& size : *sizes) {
        if (!size.is_number_unsigned() || size == 0 || size > most_bytes) {
            reader.fail("sizes are whole numbers of bytes");
            return;
        }
        order.sizes.push_back(size.get<std::uint64_t>());
    }
}

template <class Value, class Parse>
void read_names(const json& object, const char* key, wire::ObjectReader& reader, Parse parse,
                std::vector<Value>& out) {
    if (!object.contains(key)) {
        return;
    }
    const auto* names = reader.array(key);
    if (names == nullptr) {
        return;
    }
    out.clear();
    for (const auto& name : *names) {
        const auto value = name.is_string() ? parse(name.get_ref<const std::string&>()) : std::nullopt;
        if (!value) {
            reader.fail(std::string("there is no such one among the ") + key + ": " + wire::dump(name));
            return;
        }
        out.push_back(*value);
    }
}

std::optional<NcclUniqueId> read_id(wire::ObjectReader& reader) {
    std::string bytes;
    reader.read_bytes("id", bytes);
    NcclUniqueId id;
    if (reader.failed()) {
        return std::nullopt;
    }
    if (bytes.size() != sizeof id.bytes) {
        reader.fail("an id has 128 bytes");
        return std::nullopt;
    }
    std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
    return id;
}

} // namespace

int exit_code(const Error& error) {
    switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::protocol:
        return 2;
    case ErrorKind::not_found:
        return 3;
    case ErrorKind::timeout:
        return 5;
    case ErrorKind::interrupted:
        return 6;
    default:
        return 4;
    }
}

Result<Order> parse_order(std::string_view line) {
    const auto object = wire::parse_object(line, "the order");
    TRY(object);
    wire::ObjectReader reader(*object, "the order");
    Order order;
    order.operations.assign(std::begin(every_operation), std::end(every_operation));
    order.types = {DataType::float32, DataType::bfloat16};
    for (const auto* key : {"rank", "world_size", "deadline_ms"}) {
        reader.require(key);
    }
    reader.read("rank", order.rank);
    reader.read("world_size", order.world_size);
    reader.read("device", order.device);
    reader.read("deadline_ms", order.deadline_ms);
    reader.read("iterations", order.iterations);
    reader.read("warm_up", order.warm_up);
    reader.read("series_ms", order.series_ms);
    read_sizes(*object, reader, order);
    read_names(*object, "operations", reader, parse_operation, order.operations);
    read_names(*object, "types", reader, parse_data_type, order.types);
    if (object->contains("id")) {
        order.id = read_id(reader);
    }
    if (!reader.failed()) {
        if (order.world_size < 1 || order.world_size > most_ranks || order.rank < 0 ||
            order.rank >= order.world_size) {
            reader.fail("rank is from 0 to world_size - 1");
        } else if (order.device < 0 || order.deadline_ms < 1 || order.series_ms < 0) {
            reader.fail("device is 0 or more, deadline_ms 1 or more, series_ms 0 or more");
        } else if (order.iterations < 1 || order.iterations > most_iterations || order.warm_up < 0 ||
                   order.warm_up > most_iterations) {
            reader.fail("iterations are 1 to 10000, and warm_up 0 to 10000");
        }
    }
    if (reader.failed()) {
        return reader.error();
    }
    return order;
}

Result<NcclUniqueId> parse_id(std::string_view line) {
    const auto object = wire::parse_object(line, "the id's line");
    TRY(object);
    wire::ObjectReader reader(*object, "the id's line");
    reader.require("id");
    const auto id = reader.failed() ? std::nullopt : read_id(reader);
    if (!id) {
        return reader.error();
    }
    return *id;
}

} // namespace dockdist::probe
