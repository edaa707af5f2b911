#include "shared/wire/sample.hpp"

#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

namespace dockdist::wire {

using nlohmann::json;

namespace {

constexpr const char* what_lines_are = "the node's sample";
constexpr std::int64_t most_count = std::numeric_limits<std::int64_t>::max();
constexpr double most_figure = 1e9; // °C, W, MHz, percent: beyond any

template <class Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json();
}

// Tenths suffice, and take less on the way than what a double prints as.
json tenths(const std::optional<double>& value) {
    if (!value) {
        return {};
    }
    const auto rounded = std::round(*value * 10) / 10;
    return rounded == std::floor(rounded) ? json(static_cast<std::int64_t>(rounded)) : json(rounded);
}

template <class Items, class Cell>
json column(const Items& items, Cell cell) {
    auto array = json::array();
    for (const auto& item : items) {
        array.push_back(cell(item));
    }
    return array;
}

json traffic_object(const std::vector<TrafficCount>& counts) {
    return {{"received", column(counts, [](const auto& count) { return or_null(count.received); })},
            {"sent", column(counts, [](const auto& count) { return or_null(count.sent); })}};
}

json gpus_object(const std::vector<GpuSample>& gpus) {
    return {
        {"utilization_percent", column(gpus, [](const auto& g) { return tenths(g.utilization_percent); })},
        {"memory_bytes", column(gpus, [](const auto& g) { return or_null(g.memory_bytes); })},
        {"power_w", column(gpus, [](const auto& g) { return tenths(g.power_w); })},
        {"temperature_c", column(gpus, [](const auto& g) { return tenths(g.temperature_c); })},
        {"clock_mhz", column(gpus, [](const auto& g) { return tenths(g.clock_mhz); })},
        {"throttle", column(gpus, [](const auto& g) { return or_null(g.throttle); })}};
}

json ranks_object(const std::vector<RankSample>& ranks) {
    return {{"job", column(ranks, [](const auto& r) { return r.job; })},
            {"rank", column(ranks, [](const auto& r) { return r.rank; })},
            {"pid", column(ranks, [](const auto& r) { return r.pid; })},
            {"cpu_ms", column(ranks, [](const auto& r) { return r.cpu_ms; })},
            {"memory_bytes", column(ranks, [](const auto& r) { return r.memory_bytes; })},
            {"gpus", column(ranks, [](const auto& r) { return r.gpus; })}};
}

// A whole number that is not negative, or null.
bool read_cell(const json& cell, std::optional<std::uint64_t>& out) {
    if (cell.is_null()) {
        return true;
    }
    if (!cell.is_number_integer() || (!cell.is_number_unsigned() && cell.get<std::int64_t>() < 0) ||
        cell.get<std::uint64_t>() > static_cast<std::uint64_t>(most_count)) {
        return false;
    }
    out = cell.get<std::uint64_t>();
    return true;
}

bool read_cell(const json& cell, std::optional<double>& out) {
    if (cell.is_null()) {
        return true;
    }
    if (!cell.is_number() || !std::isfinite(cell.get<double>()) ||
        std::abs(cell.get<double>()) > most_figure) {
        return false;
    }
    out = cell.get<double>();
    return true;
}

bool read_cell(const json& cell, std::int64_t& out) {
    std::optional<std::uint64_t> value;
    if (!read_cell(cell, value) || !value) {
        return false;
    }
    out = static_cast<std::int64_t>(*value);
    return true;
}

bool read_cell(const json& cell, std::uint64_t& out) {
    std::int64_t value = 0;
    const bool right = read_cell(cell, value);
    out = static_cast<std::uint64_t>(value);
    return right;
}

bool read_rank(const json& cell, int& out) {
    if (!cell.is_number_integer() || cell.get<std::int64_t>() < -1 ||
        cell.get<std::int64_t>() > std::numeric_limits<int>::max()) {
        return false;
    }
    out = static_cast<int>(cell.get<std::int64_t>());
    return true;
}

bool read_word(const json& cell, std::string& out) {
    if (!cell.is_string() || cell.get_ref<const std::string&>().size() > longest_sampled_word) {
        return false;
    }
    out = cell.get<std::string>();
    return true;
}

bool read_indices(const json& cell, std::vector<int>& out) {
    if (!cell.is_array() || cell.size() > most_sampled_gpus) {
        return false;
    }
    return std::ranges::all_of(cell, [&](const json& index) {
        int number = 0;
        const bool right = read_rank(index, number) && number >= 0;
        out.push_back(number);
        return right;
    });
}

// `items` have their number already; a missing column leaves them as they are.
template <class Items, class Read>
void read_column(ObjectReader& reader, const char* key, Items& items, Read read) {
    const auto* cells = reader.array(key);
    if (cells == nullptr) {
        return;
    }
    if (cells->size() != items.size()) {
        return reader.fail(std::string("\"") + key + "\" is not of " + std::to_string(items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!read((*cells)[i], items[i])) {
            return reader.fail(std::string("\"") + key + "\" holds something wrong");
        }
    }
}

template <class Items, class Item, class Member>
void read_member(ObjectReader& reader, const char* key, Items& items, Member Item::* member) {
    read_column(reader, key, items,
                [member](const json& cell, Item& item) { return read_cell(cell, item.*member); });
}

template <class Value>
void read_optional(ObjectReader& reader, const char* key, std::optional<Value>& out) {
    if (const auto* cell = reader.any(key); cell != nullptr && !read_cell(*cell, out)) {
        reader.fail(std::string("\"") + key + "\" is not a number");
    }
}

void read_optional(ObjectReader& reader, const char* key, std::optional<std::int64_t>& out) {
    std::optional<std::uint64_t> value;
    read_optional(reader, key, value);
    if (value) {
        out = static_cast<std::int64_t>(*value);
    }
}

void read_word(ObjectReader& reader, const char* key, std::string& out) {
    if (const auto* cell = reader.any(key); cell != nullptr && !read_word(*cell, out)) {
        reader.fail(std::string("\"") + key + "\" is not a word");
    }
}

void read_words(ObjectReader& reader, const char* key, std::vector<std::string>& out) {
    if (const auto* cells = reader.array(key)) {
        if (cells->size() > most_sampled_items) {
            return reader.fail(std::string("\"") + key + "\" is too long");
        }
        out.resize(cells->size());
        read_column(reader, key, out,
                    [](const json& cell, std::string& word) { return read_word(cell, word); });
    }
}

void read_fields(ObjectReader& reader, GpuInventory& gpu) {
    reader.require("index");
    reader.read("index", gpu.index, 0, std::numeric_limits<int>::max());
    read_word(reader, "uuid", gpu.uuid);
    read_word(reader, "name", gpu.name);
    read_words(reader, "instances", gpu.instances);
    read_optional(reader, "memory_bytes", gpu.memory_bytes);
    read_optional(reader, "power_limit_w", gpu.power_limit_w);
    read_optional(reader, "most_clock_mhz", gpu.most_clock_mhz);
}

void read_fields(ObjectReader& reader, DiskInventory& disk) {
    reader.require("path");
    read_word(reader, "path", disk.path);
    read_optional(reader, "size_bytes", disk.size_bytes);
}

template <class Item>
void read_items(ObjectReader& reader, const char* key, std::size_t most, std::vector<Item>& items) {
    read_objects(reader, key, [&](ObjectReader& item) {
        if (items.size() == most) {
            return item.fail("there are too many");
        }
        read_fields(item, items.emplace_back());
    });
}

// What everybody finds by its name or number is there once.
template <class Items, class Name>
void check_once(ObjectReader& reader, const char* key, const Items& items, Name name) {
    std::set<std::decay_t<std::invoke_result_t<Name, decltype(*items.begin())>>> seen;
    for (const auto& item : items) {
        if (!seen.insert(std::invoke(name, item)).second) {
            return reader.fail(std::string("\"") + key + "\" has something twice");
        }
    }
}

void read_fields(ObjectReader& reader, SampleFacts& facts) {
    reader.read("cpus", facts.cpus, 0, std::numeric_limits<int>::max());
    read_optional(reader, "memory_bytes", facts.memory_bytes);
    read_word(reader, "driver", facts.driver);
    read_items(reader, "gpus", most_sampled_gpus, facts.gpus);
    reader.read("asking_gpus", facts.asking_gpus);
    read_word(reader, "gpu_problem", facts.gpu_problem);
    read_items(reader, "disks", most_sampled_items, facts.disks);
    read_words(reader, "network", facts.network);
    read_words(reader, "rdma", facts.rdma);
    reader.read("interval_ms", facts.interval_ms, least_sample_interval_ms, most_sample_interval_ms);
    check_once(reader, "gpus", facts.gpus, &GpuInventory::index);
    check_once(reader, "disks", facts.disks, &DiskInventory::path);
    check_once(reader, "network", facts.network, std::identity());
    check_once(reader, "rdma", facts.rdma, std::identity());
}

void read_traffic(ObjectReader& reader, const char* key, std::size_t count, std::vector<TrafficCount>& out) {
    out.resize(count);
    read_object(reader, key, [&](ObjectReader& columns) {
        read_member(columns, "received", out, &TrafficCount::received);
        read_member(columns, "sent", out, &TrafficCount::sent);
    });
}

void read_gpus(ObjectReader& reader, std::size_t count, std::vector<GpuSample>& out) {
    read_object(reader, "gpus", [&](ObjectReader& columns) {
        out.resize(count);
        read_member(columns, "utilization_percent", out, &GpuSample::utilization_percent);
        read_member(columns, "memory_bytes", out, &GpuSample::memory_bytes);
        read_member(columns, "power_w", out, &GpuSample::power_w);
        read_member(columns, "temperature_c", out, &GpuSample::temperature_c);
        read_member(columns, "clock_mhz", out, &GpuSample::clock_mhz);
        read_member(columns, "throttle", out, &GpuSample::throttle);
    });
}

void read_ranks(ObjectReader& reader, std::vector<RankSample>& out) {
    read_object(reader, "ranks", [&](ObjectReader& columns) {
        columns.require("job");
        const auto* jobs = columns.array("job");
        if (jobs == nullptr || jobs->size() > most_sampled_ranks) {
            return columns.fail("there are too many ranks");
        }
        out.resize(jobs->size());
        read_column(columns, "job", out,
                    [](const json& cell, RankSample& rank) { return read_word(cell, rank.job); });
        read_column(columns, "rank", out,
                    [](const json& cell, RankSample& rank) { return read_rank(cell, rank.rank); });
        read_member(columns, "pid", out, &RankSample::pid);
        read_member(columns, "cpu_ms", out, &RankSample::cpu_ms);
        read_member(columns, "memory_bytes", out, &RankSample::memory_bytes);
        read_column(columns, "gpus", out,
                    [](const json& cell, RankSample& rank) { return read_indices(cell, rank.gpus); });
        check_once(columns, "ranks", out,
                   [](const RankSample& rank) { return std::pair(rank.job, rank.rank); });
    });
}

void read_sample(ObjectReader& reader, const SampleFacts& facts, Sample& sample) {
    reader.require("clock_ms");
    reader.read("at_ms", sample.at_ms, 0, most_count);
    reader.read("clock_ms", sample.clock_ms, 0, most_count);
    read_optional(reader, "cpu_ms", sample.cpu_ms);
    read_optional(reader, "memory_bytes", sample.memory_bytes);
    read_optional(reader, "disk_read", sample.disk_read);
    read_optional(reader, "disk_written", sample.disk_written);
    sample.disk_bytes.resize(facts.disks.size());
    read_column(reader, "disk_bytes", sample.disk_bytes,
                [](const json& cell, std::optional<std::uint64_t>& used) { return read_cell(cell, used); });
    read_traffic(reader, "network", facts.network.size(), sample.network);
    read_traffic(reader, "rdma", facts.rdma.size(), sample.rdma);
    read_gpus(reader, facts.gpus.size(), sample.gpus);
    read_ranks(reader, sample.ranks);
    for (auto& rank : sample.ranks) {
        std::erase_if(rank.gpus, [&](int index) {
            return std::ranges::find(facts.gpus, index, &GpuInventory::index) == facts.gpus.end();
        });
    }
}

} // namespace

std::string facts_line(const SampleFacts& facts) {
    json object{{"cpus", facts.cpus},
                {"memory_bytes", or_null(facts.memory_bytes)},
                {"driver", facts.driver},
                {"gpus", json::array()},
                {"asking_gpus", facts.asking_gpus},
                {"gpu_problem", facts.gpu_problem},
                {"disks", json::array()},
                {"network", facts.network},
                {"rdma", facts.rdma},
                {"interval_ms", facts.interval_ms}};
    for (const auto& gpu : facts.gpus) {
        object["gpus"].push_back({{"index", gpu.index},
                                  {"uuid", gpu.uuid},
                                  {"name", gpu.name},
                                  {"instances", gpu.instances},
                                  {"memory_bytes", or_null(gpu.memory_bytes)},
                                  {"power_limit_w", tenths(gpu.power_limit_w)},
                                  {"most_clock_mhz", tenths(gpu.most_clock_mhz)}});
    }
    for (const auto& disk : facts.disks) {
        object["disks"].push_back({{"path", disk.path}, {"size_bytes", or_null(disk.size_bytes)}});
    }
    return dump(json{{"facts", std::move(object)}}) + "\n";
}

std::string sample_line(const Sample& sample) {
    json object{{"at_ms", sample.at_ms},
                {"clock_ms", sample.clock_ms},
                {"cpu_ms", or_null(sample.cpu_ms)},
                {"memory_bytes", or_null(sample.memory_bytes)},
                {"disk_read", or_null(sample.disk_read)},
                {"disk_written", or_null(sample.disk_written)},
                {"disk_bytes", column(sample.disk_bytes, [](const auto& used) { return or_null(used); })},
                {"network", traffic_object(sample.network)}};
    if (!sample.rdma.empty()) {
        object["rdma"] = traffic_object(sample.rdma);
    }
    if (!sample.gpus.empty()) {
        object["gpus"] = gpus_object(sample.gpus);
    }
    if (!sample.ranks.empty()) {
        object["ranks"] = ranks_object(sample.ranks);
    }
    return dump(json{{"sample", std::move(object)}}) + "\n";
}

Result<std::optional<Sample>> SampleReader::hear(std::string_view line) {
    const auto object = parse_object(line, what_lines_are);
    TRY(object);
    ObjectReader reader(*object, what_lines_are);
    std::optional<SampleFacts> facts;
    std::optional<Sample> sample;
    read_object(reader, "facts", [&](ObjectReader& fields) { read_fields(fields, facts.emplace()); });
    const auto& known = facts ? *facts : facts_;
    read_object(reader, "sample",
                [&](ObjectReader& fields) { read_sample(fields, known, sample.emplace()); });
    if (reader.failed()) {
        return reader.error();
    }
    if (facts) {
        facts_ = std::move(*facts);
        has_facts_ = true;
    }
    return sample;
}

} // namespace dockdist::wire
