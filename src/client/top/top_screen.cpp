#include "client/top/top_screen.hpp"

#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/live_region.hpp"
#include "client/top/gpu_sum.hpp"
#include "client/top/top_cells.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t most_finding_lines = 6;
constexpr std::size_t least_rows = 3; // of the table; findings and help leave so many
constexpr std::size_t widest_graph = 30;
constexpr std::size_t least_graph = 8;

std::size_t graph_width(std::size_t columns) {
    constexpr std::size_t narrow = 60; // a terminal with room for a figure or two beside the names
    return columns == 0       ? 0
           : columns < narrow ? 0
                              : std::clamp<std::size_t>(columns / 8, least_graph, widest_graph);
}

// What there is in all, the most important first: "vision: 2 nodes", "1 does not answer", "4 GPUs 87 %
// 2450/2800 W 61G/320G", "CPU 12 %".
std::vector<std::string> totals(const TopModel& model) {
    GpuSum gpus;
    std::size_t silent = 0;
    std::optional<double> cpu;
    int cpu_nodes = 0;
    for (const auto& node : model.nodes()) {
        silent += node.trouble.empty() ? 0 : 1;
        add_gpus(gpus, node);
        add_known(cpu, node.rates.cpu_share);
        cpu_nodes += node.rates.cpu_share ? 1 : 0;
    }
    std::vector<std::string> parts{model.cluster() + ": " + counted(model.nodes().size(), "node")};
    if (!model.job().empty()) {
        parts.push_back("job " + model.job());
    }
    if (silent > 0) {
        parts.push_back(fmt::format("{} {} not answer", silent, silent == 1 ? "does" : "do"));
    }
    if (gpus.count > 0) {
        auto& text = parts.emplace_back(counted(gpus.count, "GPU"));
        const auto add_figure = [&text](const TopCell& cell, const char* unit) {
            text += cell.number ? " " + cell.text + unit : "";
        };
        add_figure(share_cell(gpus.utilization.value()), "");
        add_figure(power_cell(gpus.power, gpus.limit), " W");
        add_figure(of_cell(gpus.memory, gpus.memory_total), "");
    }
    if (cpu_nodes > 0) {
        parts.push_back("CPU " + share_cell(*cpu / cpu_nodes).text);
    }
    return parts;
}

// Those that have room; the first one in any case.
std::string that_fit(const std::vector<std::string>& parts, std::string_view gap, std::size_t columns) {
    auto line = safe_cell(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto part = std::string(gap) + safe_cell(parts[i]);
        line += display_width(line) + display_width(part) <= columns ? part : "";
    }
    return line;
}

std::string tabs(const TopState& state, const OutputTraits& output) {
    constexpr std::array names{"nodes", "gpus", "jobs", "ranks", "found"};
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool shown = i == static_cast<std::size_t>(state.view);
        text += i > 0 ? " " : "";
        text += shown ? styled(fmt::format("[{}]", names.at(i)), style::bold, output.colour)
                      : fmt::format(" {} ", names.at(i));
    }
    if (!state.sort_title().empty()) {
        text += fmt::format("  by {}{}", state.sort_title(), state.inverted ? ", inverted" : "");
    }
    if (state.typing || !state.filter.empty()) {
        text += fmt::format("  filter: {}{}", safe_cell(state.filter), state.typing ? "_" : "");
    }
    return text;
}

std::string help_line(const TopState& state, const OutputTraits& output) {
    const std::vector<std::string> shown{"q quit", "any other key: back"};
    const std::vector<std::string> typing{"type to filter", "Enter keep", "Esc drop"};
    const std::vector<std::string> all{"q quit",   "? keys",   "Tab, n g j r f view", "s sort",
                                       "/ filter", "i invert", "arrows scroll"};
    return styled(that_fit(state.keys     ? shown
                           : state.typing ? typing
                                          : all,
                           "  ", output.columns),
                  style::dim, output.colour);
}

std::vector<std::string> note_lines(const std::vector<std::string>& findings, TerminalSize size,
                                    std::size_t most, const OutputTraits& output) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        auto sentence = safe_cell(findings[i]);
        if (output.ascii_only()) {
            sentence = ascii_signs(sentence);
        }
        auto wrapped_lines = split(wrap_words("! " + sentence + "\n", size.columns - 1, 2), '\n');
        wrapped_lines.pop_back(); // behind the last line's end
        const auto last = i + 1 == findings.size();
        if (lines.size() + wrapped_lines.size() + (last ? 0 : 1) > most) {
            lines.push_back(fmt::format("! {} more: f", findings.size() - i));
            break;
        }
        std::ranges::move(wrapped_lines, std::back_inserter(lines));
    }
    for (auto& line : lines) {
        line = styled(line, style::yellow, output.colour);
    }
    return lines;
}

std::vector<std::string> rendered(const TopTable& table, std::size_t first, std::size_t count,
                                  const OutputTraits& output) {
    auto lines = split(table_text(cells_of(table, first, count), table.rows.size() + 1, output), '\n');
    lines.pop_back();
    return lines;
}

// All of it, a line a row: where it does not fit below a table.
TopTable found_table(const TopModel& model, TerminalSize size, const OutputTraits& output) {
    constexpr auto all = std::numeric_limits<std::size_t>::max();
    TopTable table{.columns = {{.paint = paint_note}}};
    auto plain = output;
    plain.colour = false;
    for (auto& line : note_lines(top_notes(model), size, all, plain)) {
        table.rows.push_back({{.text = std::move(line)}});
    }
    return table;
}

// Behind those that say whose row it is; returns how many.
std::size_t skip_columns(TopTable& table, std::size_t wanted) {
    const auto most = table.columns.size() - std::min(table.columns.size(), table.keys + 1);
    const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, most));
    const auto cut = [&](auto& cells) {
        const auto first = cells.begin() + static_cast<std::ptrdiff_t>(table.keys);
        cells.erase(first, first + count);
    };
    if (count > 0) {
        cut(table.columns);
        std::ranges::for_each(table.rows, cut);
    }
    return static_cast<std::size_t>(count);
}

constexpr std::array<std::array<const char*, 2>, 10> keys{{
    {"q, Ctrl-C", "quit"},
    {"n g j r f", "nodes, GPUs, jobs, ranks; all that stands out"},
    {"Tab, Shift-Tab", "the next of these, the one before"},
    {"s S", "sort by the next column, by the one before"},
    {"i", "the other way round"},
    {"/", "only rows with these words: Enter keeps that, Esc drops it"},
    {"Up, Down", "a row"},
    {"Space, PgDn, PgUp", "a page"},
    {"Home, End", "the first rows, the last ones"},
    {"Right, Left", "columns that have no room, and back"},
}};

std::vector<std::string> key_lines(std::size_t most, const OutputTraits& output) {
    Table table({{.title = "KEY"}, {.title = "WHAT IT DOES", .narrow = Narrow::end, .least = 20}});
    for (const auto& [key, does] : keys) {
        table.add_row({key, does});
    }
    auto lines = split(table.to_text(keys.size() + 1, output), '\n');
    lines.resize(std::min(lines.size() - 1, most));
    return lines;
}

const char* nothing_to_show(const TopModel& model, const TopState& state) {
    if (!state.filter.empty()) {
        return "nothing contains these words (Esc: show all)";
    }
    switch (state.view) {
    case TopView::gpus:
        return "no GPUs";
    case TopView::jobs:
    case TopView::ranks:
        return model.job().empty() ? "no job runs" : "the job does not run";
    case TopView::found:
        return "nothing stands out";
    case TopView::nodes:
        break;
    }
    return "no nodes";
}

} // namespace

std::vector<std::string> top_notes(const TopModel& model) {
    std::vector<std::string> reasons;
    std::map<std::string, std::vector<std::string>> silent; // by reason
    for (const auto& node : model.nodes()) {
        if (!node.trouble.empty()) {
            auto& nodes = silent[node.trouble];
            if (nodes.empty()) {
                reasons.push_back(node.trouble);
            }
            nodes.push_back(node.name);
        }
    }
    std::vector<std::string> lines;
    for (const auto& reason : reasons) {
        lines.push_back(list_names(silent[reason]) + ": " + reason);
    }
    std::ranges::move(findings_text(model.findings()), std::back_inserter(lines));
    return lines;
}

TopScreen top_screen(const TopModel& model, const TopState& state, TerminalSize size,
                     const OutputTraits& output) {
    TopScreen screen;
    const auto height = LiveRegion::max_lines(size);
    auto traits = output;
    traits.columns = std::max<std::size_t>(size.columns, 2) - 1; // the last one stays free
    const bool all_found = state.view == TopView::found;
    auto table = all_found ? found_table(model, size, traits)
                           : top_table(model, state.view, graph_width(traits.columns), output.unicode);
    for (const auto& column : table.columns) {
        if (!column.title.empty() && column.title != "HISTORY") {
            screen.sort_columns.push_back(column.title);
        }
    }
    if (const auto by = std::ranges::find(table.columns, state.sort_title(), &Column::title);
        !state.sort_title().empty() && by != table.columns.end()) {
        sort_rows(table, static_cast<std::size_t>(by - table.columns.begin()), state.inverted);
    } else if (state.inverted && !all_found) {
        std::ranges::reverse(table.rows);
    }
    filter_rows(table, state.filter);
    screen.skipped = skip_columns(table, state.skipped);

    constexpr std::size_t around = 4; // header, tabs, titles, help
    const auto room = height > around ? height - around : 1;
    const auto most_lines = std::min(most_finding_lines, room > least_rows ? room - least_rows : 0);
    const auto findings =
        all_found ? std::vector<std::string>{} : note_lines(top_notes(model), size, most_lines, traits);
    screen.page = std::max<std::size_t>(room - std::min(room, findings.size()), 1);
    const auto last_first = table.rows.size() - std::min(table.rows.size(), screen.page);
    screen.first = std::min(state.first, last_first);

    auto& lines = screen.lines;
    lines.push_back(styled(clipped(that_fit(totals(model), output.unicode ? " · " : ", ", traits.columns),
                                   traits.columns, output.unicode),
                           style::bold, output.colour));
    auto second = tabs(state, output);
    if (screen.skipped > 0) {
        second += "  from " + table.columns[table.keys].title;
    }
    if (table.rows.size() > screen.page) {
        second += fmt::format("  {}-{} of {}", screen.first + 1,
                              std::min(screen.first + screen.page, table.rows.size()), table.rows.size());
    }
    lines.push_back(clipped(second, traits.columns, output.unicode));
    if (state.keys) {
        std::ranges::move(key_lines(screen.page + 1, traits), std::back_inserter(lines));
    } else if (table.rows.empty()) {
        lines.emplace_back(nothing_to_show(model, state));
    } else {
        std::ranges::move(rendered(table, screen.first, screen.page, traits), std::back_inserter(lines));
    }
    const auto below = findings.size() + 1;
    lines.resize(std::max(lines.size(), height - std::min(height, below)));
    std::ranges::copy(findings, std::back_inserter(lines));
    lines.push_back(clipped(help_line(state, traits), traits.columns, output.unicode));
    if (lines.size() > height) {
        lines.resize(height);
    }
    for (auto& line : lines) {
        line = clipped(line, traits.columns, output.unicode);
    }
    return screen;
}

std::string top_text(const TopModel& model, TopView view, const OutputTraits& output) {
    const auto table = top_table(model, view, 0, output.unicode);
    std::string text;
    if (table.rows.empty() && view != TopView::found) {
        text += std::string(nothing_to_show(model, {.view = view})) + "\n";
    } else {
        for (const auto& line : rendered(table, 0, table.rows.size(), output)) {
            text += line + "\n";
        }
    }
    const auto findings = top_notes(model);
    if (!findings.empty() && !text.empty()) {
        text += "\n";
    }
    for (const auto& finding : findings) {
        text += laid_out(safe_cell(finding) + "\n", output);
    }
    return text;
}

} // namespace dockdist
