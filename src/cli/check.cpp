#include "check/check.hpp"

#include "cli/context.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

std::string_view word(CheckRow::State state) {
    switch (state) {
    case CheckRow::State::pass:
        return "pass";
    case CheckRow::State::warn:
        return "warn";
    case CheckRow::State::fail:
        return "FAIL";
    }
    return "";
}

std::string number(const std::optional<double>& value, std::string_view format) {
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string to_text(const CheckReport& report) {
    Table rows({{""}, {"WHERE"}, {"CHECK"}, {"FOUND"}});
    for (const auto& row : report.rows) {
        rows.add_row({std::string(word(row.state)), row.subject, row.check, row.text});
    }
    std::string text = rows.to_text();
    if (!report.gpus.empty()) {
        Table gpus({{"NODE"},
                    {"GPU", Align::right},
                    {"NAME"},
                    {"MEMORY MiB", Align::right},
                    {"UTIL %", Align::right},
                    {"TEMP °C", Align::right},
                    {"POWER W", Align::right},
                    {"DRIVER"},
                    {"CUDA"}});
        for (const auto& node : report.gpus) {
            for (const auto& gpu : node.gpus) {
                gpus.add_row(
                    {node.node.str(), std::to_string(gpu.index), gpu.name,
                     number(gpu.memory_used_mib, "{:.0f}") + " / " + number(gpu.memory_total_mib, "{:.0f}"),
                     number(gpu.utilization_percent, "{:.0f}"), number(gpu.temperature_c, "{:.0f}"),
                     number(gpu.power_w, "{:.0f}"), gpu.driver, node.cuda});
            }
        }
        text += "\n" + gpus.to_text();
    }
    std::string todo;
    for (const auto& row : report.rows) {
        if (!row.hint.empty()) {
            todo += fmt::format("{} {}: {}\n", row.subject, row.check, row.hint);
        }
    }
    return todo.empty() ? text : text + "\nWhat to do:\n" + todo;
}

nlohmann::json to_json(const CheckReport& report, const ClusterSpec& spec) {
    nlohmann::json json{{"cluster", spec.name.str()},
                        {"passed", report.passed()},
                        {"rows", nlohmann::json::array()},
                        {"gpus", nlohmann::json::array()}};
    for (const auto& row : report.rows) {
        const auto* state = row.state == CheckRow::State::fail
                                ? "fail"
                                : (row.state == CheckRow::State::warn ? "warn" : "pass");
        json["rows"].push_back({{"state", state},
                                {"subject", row.subject},
                                {"check", row.check},
                                {"text", row.text},
                                {"hint", row.hint}});
    }
    const auto value = [](const std::optional<double>& number) {
        return number ? nlohmann::json(*number) : nlohmann::json();
    };
    for (const auto& node : report.gpus) {
        for (const auto& gpu : node.gpus) {
            json["gpus"].push_back({{"node", node.node.str()},
                                    {"index", gpu.index},
                                    {"uuid", gpu.uuid},
                                    {"name", gpu.name},
                                    {"memory_used_mib", value(gpu.memory_used_mib)},
                                    {"memory_total_mib", value(gpu.memory_total_mib)},
                                    {"utilization_percent", value(gpu.utilization_percent)},
                                    {"temperature_c", value(gpu.temperature_c)},
                                    {"power_w", value(gpu.power_w)},
                                    {"driver", gpu.driver},
                                    {"cuda", node.cuda}});
        }
    }
    return json;
}

// Empty: what each stage needs.
Result<std::optional<std::chrono::milliseconds>> parse_stage_timeout(const std::string& text) {
    const auto duration = parse_duration(text);
    if (text.empty()) {
        return std::optional<std::chrono::milliseconds>{};
    }
    if (!duration || duration->count() < 1) {
        return Error{ErrorKind::usage, "--stage-timeout",
                     "`" + printable(text) + "` is not a duration above zero", "write it as 90s or 5m"};
    }
    return duration;
}

Task<int> run_check(Context& context, CheckOptions options, std::string stage_timeout) {
    const auto timeout = parse_stage_timeout(stage_timeout);
    if (!timeout) {
        co_return context.fail(timeout.error());
    }
    options.stage_timeout = *timeout;
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    QuietReporter quiet(*context.reporter);
    // A deep check takes minutes: its stages are shown.
    Reporter& reporter = options.deep && !context.json() ? *context.reporter : static_cast<Reporter&>(quiet);
    const auto report = co_await check_cluster(cluster.spec, cluster.engines, std::move(options), reporter);
    context.reporter->finish();
    if (context.json()) {
        context.print_json(to_json(report, cluster.spec));
    } else {
        context.print(to_text(report));
    }
    co_return report.passed() ? 0 : 1;
}

} // namespace

void add_check(CLI::App& app, Program& program) {
    auto* command = app.add_subcommand(
        "check", "Say whether a job can run: engines, nodes, GPUs, ssh from every node to every node");
    command->add_option("FILE", program.options.file, "cluster.yaml, as with --file");
    auto options = std::make_shared<CheckOptions>();
    auto stage_timeout = std::make_shared<std::string>();
    command->add_flag(
        "--deep", options->deep,
        "Measure too: TCP between every two nodes, and NCCL between their GPUs. Takes minutes, and wants "
        "the GPUs and the network for itself");
    command->add_option(
        "--stage-timeout", *stage_timeout,
        "With --deep: how long NCCL may take for each stage (3m a node alone, 1m a pair, 4m all)");
    command->callback([&program, options, stage_timeout] {
        program.work = [options, stage_timeout](Context& context) {
            return run_check(context, *options, *stage_timeout);
        };
    });
}

} // namespace dockdist
