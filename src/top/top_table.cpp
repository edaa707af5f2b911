#include "top/top_table.hpp"

#include "core/host_list.hpp"
#include "top/top_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dockdist {
namespace {

Column figure_column(std::string title, int give_up) {
    return {.title = std::move(title), .align = Align::right, .give_up = give_up};
}

Column name_column(std::string title, std::size_t least, int give_up = 0) {
    return {.title = std::move(title), .narrow = Narrow::middle, .give_up = give_up, .least = least};
}

Column load_column(std::string title) {
    return {.title = std::move(title), .align = Align::right, .paint = paint_load};
}

template <class Value>
void add(std::optional<Value>& sum, const std::optional<Value>& value) {
    if (value) {
        sum = sum.value_or(0) + *value;
    }
}

struct GpuSum {
    std::optional<std::uint64_t> memory{}, memory_total{};
    std::optional<double> power{}, limit{}, hottest{};

    void add_gpu(const wire::GpuInventory& gpu, const wire::GpuSample& sample) {
        add(memory, sample.memory_bytes);
        add(memory_total, gpu.memory_bytes);
        add(power, sample.power_w);
        add(limit, gpu.power_limit_w);
        if (sample.temperature_c) {
            hottest = std::max(hottest.value_or(*sample.temperature_c), *sample.temperature_c);
        }
    }
};

GpuSum gpus_of_node(const TopNode& node) {
    GpuSum sum;
    for (std::size_t i = 0; i < node.facts.gpus.size() && i < node.sample.gpus.size(); ++i) {
        sum.add_gpu(node.facts.gpus[i], node.sample.gpus[i]);
    }
    return sum;
}

// Whose GPU it is: a rank's, the one that has the fewest others; else a job's.
const wire::RankSample* holder_of_gpu(const TopNode& node, int index) {
    const wire::RankSample* found = nullptr;
    const auto order = [](const wire::RankSample& rank) {
        return std::pair(rank.rank < 0, rank.gpus.size());
    };
    for (const auto& rank : node.sample.ranks) {
        if (std::ranges::find(rank.gpus, index) != rank.gpus.end() &&
            (found == nullptr || order(rank) < order(*found))) {
            found = &rank;
        }
    }
    return found;
}

class TableMaker {
public:
    TableMaker(const TopModel& model, std::size_t graph, bool unicode)
        : model_(model), graph_(graph), unicode_(unicode) {}

    TopTable nodes() const;
    TopTable gpus() const;
    TopTable jobs() const;
    TopTable ranks() const;

private:
    Column history_column() const { return {.title = graph_ > 0 ? "HISTORY" : "", .give_up = 8}; }
    TopCell history_cell(const History& history) const {
        return {.text = history_graph(history, graph_, unicode_)};
    }
    // A node of which nothing is heard; why, is told below the table.
    static bool add_trouble(TopTable& table, const TopNode& node) {
        if (node.heard > 0) {
            return false;
        }
        std::vector<TopCell> row(table.columns.size());
        row.front().text = node.name;
        row.back().text = node.trouble.empty() ? "no word yet" : "no answer";
        table.rows.push_back(std::move(row));
        return true;
    }
    Column trouble_column() const {
        const bool any =
            std::ranges::any_of(model_.nodes(), [](const auto& node) { return node.heard == 0; });
        return {.title = any ? "STATE" : "", .narrow = Narrow::end, .least = 16, .paint = paint_trouble};
    }

    const TopModel& model_;
    std::size_t graph_;
    bool unicode_;
};

TopTable TableMaker::nodes() const {
    TopTable table{.columns = {name_column("NODE", 8),
                               load_column("GPU"),
                               history_column(),
                               figure_column("GPU MEM", 9),
                               figure_column("W", 11),
                               {.title = "°C", .align = Align::right, .give_up = 10, .paint = paint_heat},
                               load_column("CPU"),
                               figure_column("MEMORY", 7),
                               figure_column("NET IN", 6),
                               figure_column("NET OUT", 5),
                               figure_column("RDMA IN", 4),
                               figure_column("RDMA OUT", 3),
                               figure_column("READ", 2),
                               figure_column("WRITE", 1),
                               trouble_column()}};
    for (const auto& node : model_.nodes()) {
        if (add_trouble(table, node)) {
            continue;
        }
        const auto sum = gpus_of_node(node);
        const auto net = sum_of(node.rates.network);
        const auto rdma = sum_of(node.rates.rdma);
        table.rows.push_back({{node.name},
                              share_cell(mean_utilization(node.sample.gpus)),
                              history_cell(node.load),
                              of_cell(sum.memory, sum.memory_total),
                              power_cell(sum.power, sum.limit),
                              number_cell(sum.hottest),
                              share_cell(node.rates.cpu_share),
                              of_cell(node.sample.memory_bytes, node.facts.memory_bytes),
                              size_cell(net.received),
                              size_cell(net.sent),
                              size_cell(rdma.received),
                              size_cell(rdma.sent),
                              size_cell(node.rates.disk_read),
                              size_cell(node.rates.disk_written),
                              {}});
    }
    return table;
}

TopTable TableMaker::gpus() const {
    TopTable table{
        .columns = {name_column("NODE", 8),
                    figure_column("GPU", 0),
                    load_column("BUSY"),
                    history_column(),
                    figure_column("MEMORY", 7),
                    figure_column("W", 9),
                    {.title = "°C", .align = Align::right, .give_up = 6, .paint = paint_heat},
                    figure_column("MHz", 2),
                    {.title = "SLOWED BY", .narrow = Narrow::end, .give_up = 3, .paint = paint_throttle},
                    name_column("JOB", 8, 5),
                    figure_column("RANK", 4),
                    trouble_column()}};
    for (const auto& node : model_.nodes()) {
        if (add_trouble(table, node)) {
            continue;
        }
        for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
            const auto& gpu = node.facts.gpus[i];
            const auto sample = i < node.sample.gpus.size() ? node.sample.gpus[i] : wire::GpuSample{};
            const auto* holder = holder_of_gpu(node, gpu.index);
            const auto history = node.gpus.find(gpu.index);
            table.rows.push_back(
                {{node.name},
                 number_cell(gpu.index),
                 share_cell(sample.utilization_percent ? std::optional(*sample.utilization_percent / 100)
                                                       : std::nullopt),
                 history_cell(history == node.gpus.end() ? History{} : history->second),
                 of_cell(sample.memory_bytes, gpu.memory_bytes),
                 power_cell(sample.power_w, gpu.power_limit_w),
                 number_cell(sample.temperature_c),
                 number_cell(sample.clock_mhz),
                 throttle_cell(sample.throttle.value_or(0)),
                 {holder == nullptr ? "-" : holder->job},
                 holder == nullptr || holder->rank < 0 ? absent_cell() : number_cell(holder->rank),
                 {}});
        }
    }
    return table;
}

TopTable TableMaker::ranks() const {
    TopTable table{.columns = {name_column("JOB", 8), figure_column("RANK", 0), name_column("NODE", 8, 9),
                               figure_column("PID", 1), figure_column("GPU", 7), load_column("BUSY"),
                               history_column(), figure_column("GPU MEM", 5), figure_column("W", 4),
                               figure_column("CPUS", 10), figure_column("MEMORY", 6)}};
    for (const auto& node : model_.nodes()) {
        for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
            const auto& rank = node.sample.ranks[i];
            GpuSum sum;
            std::vector<wire::GpuSample> own;
            std::string indices;
            for (const auto index : rank.gpus) {
                indices += (indices.empty() ? "" : ",") + std::to_string(index);
                if (const auto* gpu = gpu_at(node.facts, node.sample, index)) {
                    own.push_back(*gpu);
                    sum.add_gpu(*std::ranges::find(node.facts.gpus, index, &wire::GpuInventory::index), *gpu);
                }
            }
            const auto cpus = i < node.rates.rank_cpus.size() ? node.rates.rank_cpus[i] : std::nullopt;
            const auto history = node.ranks.find({rank.job, rank.rank});
            table.rows.push_back({{rank.job},
                                  rank.rank < 0 ? absent_cell() : number_cell(rank.rank),
                                  {node.name},
                                  number_cell(static_cast<double>(rank.pid)),
                                  {indices.empty() ? "-" : indices},
                                  share_cell(mean_utilization(own)),
                                  history_cell(history == node.ranks.end() ? History{} : history->second),
                                  of_cell(sum.memory, sum.memory_total),
                                  power_cell(sum.power, sum.limit),
                                  cpus ? TopCell{fmt::format("{:.2f}", *cpus), cpus} : absent_cell(),
                                  size_cell(std::optional(rank.memory_bytes))});
        }
    }
    return table;
}

TopTable TableMaker::jobs() const {
    struct Job {
        std::vector<std::string> nodes{};
        int ranks = 0;
        std::size_t gpus = 0;
        GpuSum sum{};
        std::vector<wire::GpuSample> own{};
        std::optional<double> cpus{};
        std::uint64_t memory = 0;
        History history{};
    };
    std::map<std::string, Job> jobs;
    for (const auto& node : model_.nodes()) {
        std::map<std::string, std::set<int>> indices;
        for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
            const auto& rank = node.sample.ranks[i];
            auto& job = jobs[rank.job];
            if (job.nodes.empty() || job.nodes.back() != node.name) {
                job.nodes.push_back(node.name);
            }
            job.ranks += rank.rank >= 0 ? 1 : 0;
            job.memory += rank.memory_bytes;
            add(job.cpus, i < node.rates.rank_cpus.size() ? node.rates.rank_cpus[i] : std::nullopt);
            indices[rank.job].insert(rank.gpus.begin(), rank.gpus.end());
        }
        for (const auto& [name, own] : indices) {
            auto& job = jobs[name];
            job.gpus += own.size();
            for (const auto index : own) {
                if (const auto* gpu = gpu_at(node.facts, node.sample, index)) {
                    job.own.push_back(*gpu);
                    job.sum.add_gpu(*std::ranges::find(node.facts.gpus, index, &wire::GpuInventory::index),
                                    *gpu);
                }
            }
        }
    }
    TopTable table{.columns = {name_column("JOB", 8),
                               name_column("NODES", 8, 5),
                               figure_column("RANKS", 3),
                               figure_column("GPUS", 7),
                               load_column("BUSY"),
                               figure_column("GPU MEM", 6),
                               figure_column("W", 4),
                               {.title = "°C", .align = Align::right, .give_up = 2, .paint = paint_heat},
                               figure_column("CPUS", 8),
                               figure_column("MEMORY", 1)}};
    for (const auto& [name, job] : jobs) {
        table.rows.push_back({{name},
                              {list_names(job.nodes)},
                              number_cell(job.ranks),
                              number_cell(static_cast<double>(job.gpus)),
                              share_cell(mean_utilization(job.own)),
                              of_cell(job.sum.memory, job.sum.memory_total),
                              power_cell(job.sum.power, job.sum.limit),
                              number_cell(job.sum.hottest),
                              job.cpus ? TopCell{fmt::format("{:.2f}", *job.cpus), job.cpus} : absent_cell(),
                              size_cell(std::optional(job.memory))});
    }
    return table;
}

// A column of which nothing is known anywhere takes no room.
void drop_empty_columns(TopTable& table) {
    for (auto i = table.columns.size(); i-- > 0;) {
        const bool empty = std::ranges::all_of(table.rows, [&](const std::vector<TopCell>& row) {
            return row[i].text.empty() || row[i].text == "-";
        });
        if (empty && !table.rows.empty()) {
            table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
            for (auto& row : table.rows) {
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }
}

} // namespace

TopTable top_table(const TopModel& model, TopView view, std::size_t graph, bool unicode) {
    if (view == TopView::found) {
        return {};
    }
    const TableMaker maker(model, graph, unicode);
    auto table = view == TopView::nodes  ? maker.nodes()
                 : view == TopView::gpus ? maker.gpus()
                 : view == TopView::jobs ? maker.jobs()
                                         : maker.ranks();
    drop_empty_columns(table);
    return table;
}

} // namespace dockdist
