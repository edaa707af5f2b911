#include "check/check.hpp"

#include "check/report/report_page.hpp"
#include "check/report/report_text.hpp"
#include "cli/context.hpp"
#include "cli/data_rows.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace dockdist {
namespace {

struct CheckArguments {
    CheckOptions check{};
    std::vector<std::string> hosts{}; // --host
    std::string stage_timeout{};      // --stage-timeout
    std::string page{};               // --report
    bool all = false;
};

Error page_error(const std::string& path) {
    return Error{ErrorKind::usage, path, std::string("the report cannot be written: ") + std::strerror(errno),
                 "give --report a file in a folder that you may write to"};
}

// Before the check: minutes of a deep one are not for nothing. What an older report holds stays until then.
Status try_page(const std::string& path) {
    std::ofstream file(path, std::ios::app);
    if (!file) {
        return page_error(path);
    }
    return ok;
}

Status write_page(const CheckReport& report, const CheckArguments& options, const ClusterSpec& spec) {
    const PageFacts facts{
        .cluster = spec.name.str(),
        .time = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::chrono::system_clock::now())),
        .version = DOCKDIST_VERSION,
        .deep = options.check.deep};
    std::ofstream file(options.page, std::ios::trunc);
    file << report_page(report, facts);
    file.close();
    if (!file) {
        return page_error(options.page);
    }
    return ok;
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

// Behind the others of their layer.
Task<void> add_data_rows(const Context& context, const Connected& cluster, std::vector<bool> chosen,
                         CheckReport& report) {
    std::vector<std::size_t> hosts;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i]) {
            hosts.push_back(i);
        }
    }
    auto rows = co_await data_rows(context, cluster.spec, cluster.engines, std::move(hosts));
    const auto behind =
        std::ranges::find_if(report.rows, [](const CheckRow& row) { return row.layer > CheckLayer::host; });
    report.rows.insert(behind, std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

Task<int> run_check(Context& context, CheckArguments options) {
    const auto timeout = parse_stage_timeout(options.stage_timeout);
    if (!timeout) {
        co_return context.fail(timeout.error());
    }
    options.check.stage_timeout = *timeout;
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    auto selection = select_for_check(cluster.spec, options.hosts);
    if (!selection) {
        co_return context.fail(selection.error());
    }
    if (!options.page.empty()) {
        if (const auto writable = try_page(options.page); !writable) {
            co_return context.fail(writable.error());
        }
    }
    QuietReporter quiet(*context.reporter);
    // A deep check takes minutes: its stages are shown.
    Reporter& reporter =
        options.check.deep && !context.json() ? *context.reporter : static_cast<Reporter&>(quiet);
    const auto hosts = selection->hosts;
    auto report =
        co_await check_cluster(cluster.spec, cluster.engines, std::move(*selection), options.check, reporter);
    co_await add_data_rows(context, cluster, hosts, report);
    context.reporter->finish();
    if (context.json()) {
        context.print_json(report_json(report, cluster.spec.name.str()));
    } else {
        context.print(report_text(report, context.table_rows(options.all)));
    }
    if (!options.page.empty()) {
        if (const auto written = write_page(report, options, cluster.spec); !written) {
            co_return context.fail(written.error());
        }
    }
    co_return report.passed() ? 0 : 1;
}

} // namespace

void add_check(CLI::App& app, Program& program) {
    auto options = std::make_shared<CheckArguments>();
    auto* command = app.add_subcommand(
        "check", "Say whether a job can run: engines, hosts, nodes, GPUs, and the network between them");
    command->add_option("FILE", program.options.file, "cluster.yaml, as with --file");
    command
        ->add_option(
            "--host", options->hosts,
            "Only this host or node, or these (node-[0-3], @rack2), and the links between them; repeatable")
        ->type_name("NAME")
        ->take_all();
    auto* deep = command->add_flag("--deep", options->check.deep,
                                   "Also measure TCP between every two nodes, and NCCL between their GPUs. "
                                   "Takes minutes, and needs the GPUs and the network to itself");
    command
        ->add_option(
            "--stage-timeout", options->stage_timeout,
            "With --deep: how long NCCL may take for each stage (3m a node alone, 1m a pair, 4m all)")
        ->needs(deep);
    command->add_flag("--all", options->all, "A row for every GPU, also of many that are alike");
    command->add_option("--report", options->page, "Also write the findings as one HTML page")
        ->type_name("FILE.html");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_check(context, *options); };
    });
}

} // namespace dockdist
