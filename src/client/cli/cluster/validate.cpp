#include "client/check/compare.hpp"
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/plan/engine_abilities.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/exit_codes.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

nlohmann::json to_json(const Errors& errors) {
    auto json = nlohmann::json::array();
    for (const auto& error : errors) {
        json.push_back({{"where", error.where}, {"message", error.message}, {"hint", error.hint}});
    }
    return json;
}

// `check` has a row of it, and `up` shows that row.
void tell_open_engines(const Context& context, const Loaded& loaded) {
    std::vector<std::string> hosts;
    std::optional<EngineRemark> remark;
    for (const auto& host : loaded.spec.hosts) {
        if (auto told = judge_access(host)) {
            hosts.push_back(host.name.str());
            remark = std::move(told);
        }
    }
    if (loaded.errors.empty() && remark) {
        context.reporter->on(
            warning_event({.where = list_names(hosts), .message = remark->message, .hint = remark->hint}));
    }
}

Task<int> run_validate(Context& context) {
    auto loaded = co_await load(context, Secrets::all);
    if (loaded.errors.empty() && loaded.spec.image.build) {
        loaded.errors = loaded.spec.image.build->missing;
    }
    tell_open_engines(context, loaded);
    if (context.json()) {
        context.print_json({{"valid", loaded.errors.empty()}, {"errors", to_json(loaded.errors)}});
        co_return loaded.errors.empty() ? 0 : exit_codes::wrong_input;
    }
    if (!loaded.errors.empty()) {
        co_return context.fail(loaded.errors);
    }
    const auto nodes = expand_nodes(loaded.spec).size();
    context.tell(fmt::format("{}: valid, {}, {}\n", loaded.spec.file.string(),
                             counted(loaded.spec.hosts.size(), "host"), counted(nodes, "node")));
    co_return 0;
}

} // namespace

void add_validate(CLI::App& app, Program& program) {
    auto* command =
        describe(app.add_subcommand("validate",
                                    "Check cluster.yaml, and report every mistake at once; contacts no host"),
                 command_group::cluster, {"dockdist validate", "dockdist validate -f train.yaml"});
    command->callback([&program] {
        program.one_value = true;
        program.work = run_validate;
    });
}

} // namespace dockdist
