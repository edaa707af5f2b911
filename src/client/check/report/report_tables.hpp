// A report's measurements as rows of cells, for the terminal and the page alike. Pure.
#pragma once

#include "client/check/report/report.hpp"
#include "client/report/cell_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

std::string_view to_string(CheckLayer layer);      // "engine"
std::string_view to_string(CheckRow::State state); // "pass", "warn", "fail"

// "3 of 24 checks failed, 1 warning"; "24 checks passed, 1 warning".
std::string verdict(const CheckReport& report);

// A row a GPU.
CellTable gpu_table(const CheckReport& report);

// What a measurement was made over. In a cluster of two nodes the only pair is all of them.
enum class Scope { node, pair, all };
Scope scope_of(const CollectiveMeasurement& measurement, std::size_t nodes);

// A row an operation and data type: the bus bandwidth at the largest size, of single nodes and of pairs (the
// least and the median), and of all nodes. Columns that nothing was measured for are left out.
CellTable collective_table(const CheckReport& report);

// Figures between nodes, a row and a column a node. Empty where nothing was measured.
struct Matrix {
    std::string title{};
    std::string unit{};
    bool symmetric = false; // of pairs, not of ways: both halves say the same
    bool less_is_better = false;
    std::vector<std::string> names{};
    std::vector<std::optional<double>> values{}; // from × names.size() + to
    std::vector<bool> slow{};                    // the same places

    bool empty() const;
    std::string cell(std::size_t from, std::size_t to) const; // "93.4"; "-" where there is none
};
Matrix bandwidth_matrix(const CheckReport& report); // Gbit/s
Matrix latency_matrix(const CheckReport& report);   // µs
Matrix
pair_matrix(const CheckReport& report); // GB/s of all_reduce's largest size between the GPUs of two nodes

// "1 KiB", "8 GiB": sizes that are powers of two in whole units, others with a digit.
std::string short_size(std::uint64_t bytes);

} // namespace dockdist
