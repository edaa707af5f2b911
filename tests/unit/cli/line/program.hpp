// A program in miniature, as main.cpp makes the real one.
#pragma once

#include "client/cli/line/help_text.hpp"
#include "client/cli/line/line_error.hpp"
#include "client/cli/line/values.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::test {

struct Line {
    CLI::App app{"Trains", "dockdist"};
    std::string file{}, format{}, name{}, node{}, job{}, since{}, grace = "10s", limit = "1g", way{};
    std::string to{}, idle{};
    int gpus = 0;
    std::vector<std::string> command{}, env{}, words{};
    bool all = false, share = false, deep = false;

    Line() {
        app.formatter(std::make_shared<HelpFormatter>());
        app.add_option("-f,--file", file, "cluster.yaml")->type_name("FILE");
        choice(app.add_option("-o,--output", format, "What people read, or programs"), {"text", "json"});
        app.require_subcommand(1);
        auto* run = describe(app.add_subcommand("run", "Run a job"), command_group::jobs,
                             {"dockdist run -- train.py"});
        auto* sharing = run->add_flag("--share", share, "Reserve none");
        number(run->add_option("--gpus", gpus, "How many"), 1, 1024)->excludes(sharing);
        duration(run->add_option("--grace", grace, "Between TERM and KILL"), std::chrono::milliseconds(0))
            ->capture_default_str();
        duration(run->add_option("--timeout", name, "At most"));
        size(run->add_option("--log-limit", limit, "Output that is kept"), 1U << 20U);
        variable(run->add_option("--env", env, "For every rank"))->allow_extra_args(false);
        choice(run->add_option("--on-stall", way, "What follows"), {"report", "stop"});
        duration_or_off(run->add_option("--idle", idle, "When they do nothing"));
        run->add_option("--nodes", node, "Which")->type_name("NODES");
        run->add_option("--log-dir", to, "Files")->type_name("FOLDER");
        run->add_option("COMMAND", command, "The command")->required();
        auto* logs =
            describe(app.add_subcommand("logs", "Show output; or part of it"), command_group::jobs,
                     {"dockdist logs", "dockdist logs 'a b' --since 10m  # of the last ten minutes"});
        logs->add_option("JOB", job, "Its name");
        moment(logs->add_option("--since", since, "Since then"));
        logs->add_flag("-f,--follow", share, "Go on");
        auto* check = describe(app.add_subcommand("check", "Say whether it works"), command_group::looking,
                               {"dockdist check"});
        check->add_option("FILE", file, "cluster.yaml");
        check->add_option("--node", node, "Which")->type_name("NODE");
        check->add_option("--listen", to, "Where")->type_name("ADDRESS:PORT");
        auto* deeply = check->add_flag("--deep", deep, "Also measure");
        duration(check->add_option("--stage-timeout", name, "Each"))->needs(deeply);
        duration(check->add_option("--interval", since, "Between two"), std::chrono::milliseconds(100),
                 std::chrono::hours(1));
        check->add_flag("--all", all, "Every row");
        auto* image =
            describe(app.add_subcommand("image", "Images"), command_group::files, {"dockdist image ls"});
        image->require_subcommand(1);
        image->add_subcommand("ls", "Show them");
        image->add_subcommand("push", "Copy one")->add_option("REF", name, "Which");
        auto* copy =
            describe(app.add_subcommand("cp", "Copy"), command_group::nodes, {"dockdist cp node-0:a b"});
        copy->add_option("FROM", name, "From")->required();
        copy->add_option("TO", to, "To")->required();
        app.add_subcommand("__complete", "Hidden")->group("");
        for (auto* one : app.get_subcommands({})) {
            one->fallthrough();
        }
    }

    // What is said of these words; empty where nothing is wrong.
    std::string said(const std::vector<std::string>& given) {
        const auto line = read_line(app, given);
        const auto mistake = mistake_in(line);
        if (mistake && line.emptied != nullptr) {
            return to_text(*mistake);
        }
        try {
            app.parse(std::vector<std::string>(given.rbegin(), given.rend()));
            return "";
        } catch (const CLI::ParseError& refusal) {
            return to_text(mistake ? *mistake : line_error(line, refusal));
        }
    }
};

} // namespace dockdist::test
