#include "client/check/check.hpp"

#include "client/check/report/report_page.hpp"
#include "client/check/report/report_text.hpp"
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/looking/data_rows.hpp"
#include "client/cli/report_file.hpp"
#include "client/report/step.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>

namespace dockdist {
namespace {

struct CheckArguments {
    CheckOptions check{};
    std::vector<std::string> nodes{}; // --node
    std::string stage_timeout{};      // --stage-timeout
    std::string page{};               // --report
    bool all = false;
};

Status write_page(const CheckReport& report, const CheckArguments& options, const ClusterSpec& spec) {
    const PageFacts facts{.cluster = spec.name.str(),
                          .time = report_time(),
                          .version = DOCKDIST_VERSION,
                          .deep = options.check.deep};
    return report_file(options.page).write(report_page(report, facts));
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
    options.check.stage_timeout = parse_duration(options.stage_timeout);
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    auto selection = select_for_check(cluster.spec, options.nodes);
    if (!selection) {
        co_return context.fail(selection.error());
    }
    if (!options.page.empty()) {
        if (const auto writable = report_file(options.page).check(); !writable) {
            co_return context.fail(writable.error());
        }
    }
    QuietReporter quiet(*context.reporter);
    // On a terminal it is seen at work; elsewhere only the stages of a deep check, which takes minutes.
    Reporter& reporter = !context.json() && (options.check.deep || context.reporter->moves())
                             ? *context.reporter
                             : static_cast<Reporter&>(quiet);
    const auto hosts = selection->hosts;
    auto report =
        co_await check_cluster(cluster.spec, cluster.engines, std::move(*selection), options.check, reporter);
    if (!cluster.spec.data.empty()) {
        Step step(reporter, "data", "all hosts", "compare with where it comes from");
        co_await add_data_rows(context, cluster, hosts, report);
        step.finished("compared");
    }
    context.reporter->finish();
    if (context.json()) {
        context.print_json(report_json(report, cluster.spec.name.str()));
    } else {
        context.show(report_text(report, context.table_rows(options.all), context.output()));
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
    auto* command = describe(
        app.add_subcommand(
            "check", "Say whether a job can run: engines, hosts, nodes, GPUs, and the network between them"),
        command_group::looking,
        {"dockdist check", "dockdist check --node node-3", "dockdist check --deep --report check.html"});
    command
        ->add_option(
            "--node", options->nodes,
            "Only this node or host, or these (node-[0-3], @rack2), and the links between them; repeatable")
        ->type_name("NODES")
        ->allow_extra_args(false);
    add_former_name(*command, "--host", "--node", options->nodes, program);
    auto* deep = command->add_flag("--deep", options->check.deep,
                                   "Also measure TCP between every two nodes, and NCCL between their GPUs. "
                                   "Takes minutes, and needs the GPUs and the network to itself");
    duration(command->add_option(
                 "--stage-timeout", options->stage_timeout,
                 "How long NCCL may take for each stage (default: 3m a node alone, 1m a pair, 4m all)"))
        ->needs(deep);
    command->add_flag("--all", options->all, "A row for every GPU, even where many are alike");
    command->add_option("--report", options->page, "Also write the findings as one HTML page")
        ->type_name("FILE.html");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_check(context, *options); };
    });
}

} // namespace dockdist
