#include "client/top/top_table.hpp"

#include "client/top/gpu_sum.hpp"
#include "client/top/top_cells.hpp"
#include "shared/core/host_list.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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

class TableMaker {
public:
    TableMaker(const TopModel& model, std::size_t graph, bool unicode)
        : model_(model), graph_(graph), unicode_(unicode) {}

    TopTable nodes() const;
    TopTable gpus() const;
    TopTable jobs() const;
    TopTable ranks() const;

private:
    using Row = std::vector<TopCell>;

    Column history_column() const { return {.title = graph_ > 0 ? "HISTORY" : "", .give_up = 11}; }
    TopCell history_cell(const HistoryPoints& points) const {
        return {.text = history_graph(points, unicode_)};
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

// What GPUs are at besides how busy they are, with the first of Column::give_up of each kind.
struct GpuColumns {
    const char* memory = "GPU MEM";
    int clocks = 1;  // takes two
    int figures = 1; // takes three
};

void add_gpu_columns(std::vector<Column>& columns, const GpuColumns& gpu) {
    columns.push_back(figure_column(gpu.memory, gpu.figures));
    columns.push_back(figure_column("W", gpu.figures + 2));
    columns.push_back(
        {.title = "°C", .align = Align::right, .give_up = gpu.figures + 1, .paint = paint_heat});
    columns.push_back(figure_column("MHz", gpu.clocks));
    columns.push_back(
        {.title = "SLOWED BY", .narrow = Narrow::end, .give_up = gpu.clocks + 1, .paint = paint_throttle});
}

void add_gpu_cells(std::vector<TopCell>& row, const GpuSum& sum) {
    row.push_back(of_cell(sum.memory, sum.memory_total));
    row.push_back(power_cell(sum.power, sum.limit));
    row.push_back(number_cell(sum.hottest));
    row.push_back(number_cell(sum.slowest));
    row.push_back(throttle_cell(sum.throttle));
}

// What a node's interfaces and ports move.
struct NodeTraffic {
    std::vector<TrafficRate> network{}, rdma{};

    void add(const NodeRates& rates) {
        std::ranges::copy(rates.network, std::back_inserter(network));
        std::ranges::copy(rates.rdma, std::back_inserter(rdma));
    }
};

struct TrafficColumns { // as of GPUs; each takes two
    int rdma = 1, network = 1;
};

void add_traffic_columns(std::vector<Column>& columns, const TrafficColumns& traffic) {
    columns.push_back(figure_column("NET IN", traffic.network + 1));
    columns.push_back(figure_column("NET OUT", traffic.network));
    columns.push_back(figure_column("RDMA IN", traffic.rdma + 1));
    columns.push_back(figure_column("RDMA OUT", traffic.rdma));
}

void add_traffic_cells(std::vector<TopCell>& row, const NodeTraffic& traffic) {
    for (const auto& rate : {sum_of(traffic.network), sum_of(traffic.rdma)}) {
        row.push_back(size_cell(rate.received));
        row.push_back(size_cell(rate.sent));
    }
}

TopCell cpus_cell(const std::optional<double>& cpus) {
    return cpus ? TopCell{fmt::format("{:.2f}", *cpus), cpus} : absent_cell();
}

std::optional<double> cpus_of_rank(const TopNode& node, std::size_t rank) {
    return rank < node.rates.rank_cpus.size() ? node.rates.rank_cpus[rank] : std::nullopt;
}

TopTable TableMaker::nodes() const {
    TopTable table{.columns = {name_column("NODE", 8), load_column("GPU"), history_column()}};
    add_gpu_columns(table.columns, {.clocks = 6, .figures = 13});
    table.columns.push_back(load_column("CPU"));
    table.columns.push_back(figure_column("MEMORY", 12));
    add_traffic_columns(table.columns, {.rdma = 4, .network = 8});
    table.columns.push_back(figure_column("READ", 2));
    table.columns.push_back(figure_column("WRITE", 1));
    table.columns.push_back({.title = "DISK", .align = Align::right, .give_up = 3, .paint = paint_fill});
    table.columns.push_back(trouble_column());
    for (const auto& node : model_.nodes()) {
        if (add_trouble(table, node)) {
            continue;
        }
        GpuSum sum;
        add_gpus(sum, node);
        NodeTraffic traffic;
        traffic.add(node.rates);
        Row row{{node.name}, share_cell(sum.utilization.value()), history_cell(node.load.in_columns(graph_))};
        add_gpu_cells(row, sum);
        row.push_back(share_cell(node.rates.cpu_share));
        row.push_back(of_cell(node.sample.memory_bytes, node.facts.memory_bytes));
        add_traffic_cells(row, traffic);
        row.push_back(size_cell(node.rates.disk_read));
        row.push_back(size_cell(node.rates.disk_written));
        row.push_back(share_cell(fullest_disk(node)));
        row.emplace_back();
        table.rows.push_back(std::move(row));
    }
    return table;
}

TopTable TableMaker::gpus() const {
    TopTable table{
        .keys = 2,
        .columns = {name_column("NODE", 8), figure_column("GPU", 0), load_column("BUSY"), history_column()}};
    add_gpu_columns(table.columns, {.memory = "MEMORY", .clocks = 1, .figures = 5});
    table.columns.push_back(name_column("JOB", 8, 4));
    table.columns.push_back(figure_column("RANK", 3));
    table.columns.push_back(trouble_column());
    for (const auto& node : model_.nodes()) {
        if (add_trouble(table, node)) {
            continue;
        }
        for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
            const auto& gpu = node.facts.gpus[i];
            const auto* holder = holder_of_gpu(node, gpu.index);
            const auto history = node.gpus.find(gpu.index);
            GpuSum sum;
            sum.add(gpu, i < node.sample.gpus.size() ? node.sample.gpus[i] : wire::GpuSample{});
            Row row{{node.name},
                    number_cell(gpu.index),
                    share_cell(sum.utilization.value()),
                    history_cell(history == node.gpus.end() ? HistoryPoints(graph_)
                                                            : history->second.in_columns(graph_))};
            add_gpu_cells(row, sum);
            row.push_back({holder == nullptr ? "-" : holder->job});
            row.push_back(holder == nullptr || holder->rank < 0 ? absent_cell() : number_cell(holder->rank));
            row.emplace_back();
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

TopTable TableMaker::ranks() const {
    TopTable table{.keys = 2,
                   .columns = {name_column("JOB", 8), figure_column("RANK", 0), name_column("NODE", 8, 14),
                               figure_column("PID", 1), figure_column("GPU", 11), load_column("BUSY"),
                               history_column()}};
    add_gpu_columns(table.columns, {.clocks = 2, .figures = 4});
    table.columns.push_back(figure_column("CPUS", 13));
    table.columns.push_back(figure_column("MEMORY", 7));
    for (const auto& node : model_.nodes()) {
        for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
            const auto& rank = node.sample.ranks[i];
            GpuSum sum;
            add_gpus(sum, node, rank.gpus);
            const auto history = node.ranks.find({rank.job, rank.rank});
            Row row{{rank.job},
                    rank.rank < 0 ? absent_cell() : number_cell(rank.rank),
                    {node.name},
                    number_cell(static_cast<double>(rank.pid)),
                    {rank.gpus.empty() ? "-" : fmt::format("{}", fmt::join(rank.gpus, ","))},
                    share_cell(sum.utilization.value()),
                    history_cell(history == node.ranks.end() ? HistoryPoints(graph_)
                                                             : history->second.in_columns(graph_))};
            add_gpu_cells(row, sum);
            row.push_back(cpus_cell(cpus_of_rank(node, i)));
            row.push_back(size_cell(std::optional(rank.memory_bytes)));
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

// Of one job, over its nodes.
struct JobSum {
    std::vector<std::string> nodes{};
    int ranks = 0;
    GpuSum gpus{};
    NodeTraffic traffic{}; // of its nodes, whoever else uses them
    std::optional<double> cpus{};
    std::uint64_t memory = 0;
    std::vector<Mean> load{}; // over its ranks, the points of a history

    void add_load(const HistoryPoints& points) {
        load.resize(points.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            load[i].add(points[i]);
        }
    }
};

std::map<std::string, JobSum> sums_of_jobs(const TopModel& model, std::size_t graph) {
    std::map<std::string, JobSum> jobs;
    for (const auto& node : model.nodes()) {
        std::map<std::string, std::set<int>> indices;
        for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
            const auto& rank = node.sample.ranks[i];
            auto& job = jobs[rank.job];
            job.memory += rank.memory_bytes;
            add_known(job.cpus, cpus_of_rank(node, i));
            indices[rank.job].insert(rank.gpus.begin(), rank.gpus.end());
            if (rank.rank >= 0) {
                ++job.ranks;
                const auto history = node.ranks.find({rank.job, rank.rank});
                job.add_load(history == node.ranks.end() ? HistoryPoints(graph)
                                                         : history->second.in_columns(graph));
            }
        }
        for (const auto& [name, own] : indices) {
            auto& job = jobs[name];
            job.nodes.push_back(node.name);
            job.traffic.add(node.rates);
            add_gpus(job.gpus, node, {own.begin(), own.end()});
        }
    }
    return jobs;
}

TopTable TableMaker::jobs() const {
    constexpr std::size_t history_at = 5;
    constexpr std::size_t known_columns = 3; // OWNER, FOR, WAITS FOR
    TopTable table{.columns = {name_column("JOB", 8), name_column("NODES", 14, 12), figure_column("RANKS", 8),
                               figure_column("GPUS", 14), load_column("BUSY"), history_column()}};
    add_gpu_columns(table.columns, {.clocks = 6, .figures = 9});
    table.columns.push_back(figure_column("CPUS", 15));
    table.columns.push_back(figure_column("MEMORY", 5));
    add_traffic_columns(table.columns, {.rdma = 1, .network = 3});
    table.columns.push_back({.title = "OWNER", .narrow = Narrow::end, .give_up = 10, .least = 8});
    table.columns.push_back(figure_column("FOR", 13));
    table.columns.push_back({.title = "WAITS FOR", .give_up = 16});
    const auto add_known_of = [&](Row& row, const std::string& name) {
        const auto known = std::ranges::find(model_.jobs(), name, &TopJob::name);
        const bool is = known != model_.jobs().end();
        row.push_back({is && !known->owner.empty() ? known->owner : "-"});
        row.push_back(is ? duration_cell(known->for_ms) : absent_cell());
        row.push_back({is ? known->waits : ""});
    };
    const auto running = sums_of_jobs(model_, graph_);
    for (const auto& [name, job] : running) {
        Row row{{name},
                {list_names(job.nodes)},
                number_cell(job.ranks),
                number_cell(static_cast<double>(job.gpus.count)),
                share_cell(job.gpus.utilization.value()),
                history_cell(values_of(job.load))};
        add_gpu_cells(row, job.gpus);
        row.push_back(cpus_cell(job.cpus));
        row.push_back(size_cell(std::optional(job.memory)));
        add_traffic_cells(row, job.traffic);
        add_known_of(row, name);
        table.rows.push_back(std::move(row));
    }
    for (const auto& job : model_.jobs()) {
        if (!job.waits.empty() && !running.contains(job.name) && model_.job().empty()) {
            Row row(table.columns.size() - known_columns, absent_cell());
            row.front() = {job.name};
            row[history_at].text.clear();
            add_known_of(row, job.name);
            table.rows.push_back(std::move(row));
        }
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

CellTable cells_of(const TopTable& table, std::size_t first, std::size_t count) {
    CellTable cells{.columns = table.columns};
    for (auto i = first; i < table.rows.size() && i - first < count; ++i) {
        std::ranges::transform(table.rows[i], std::back_inserter(cells.rows.emplace_back()), &TopCell::text);
    }
    return cells;
}

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
