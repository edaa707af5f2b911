#include "client/cli/line/help_text.hpp"
#include "client/report/display_text.hpp"
#include "golden.hpp"
#include "shared/core/text.hpp"
#include "unit/cli/line/program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace help_text_test {

using namespace dockdist;
using test::Line;

TEST_CASE("help is laid out for the width, and says what each option is, in words") {
    const Line program;
    std::string text;
    for (const std::size_t columns : {80U, 40U}) {
        const OutputTraits output{.unicode = true, .columns = columns};
        text += "--- " + std::to_string(columns) + "\n" + short_help(program.app, output) + "--- all\n" +
                help_text(program.app, output);
        for (const auto* command : commands_of(program.app)) {
            text += "--- " + command->get_name() + "\n" + help_text(*command, output);
        }
    }
    check_golden("cli/help.txt", text);
    CHECK(text.find("__complete") == std::string::npos);
}

TEST_CASE("no line of the help is wider than the terminal") {
    const Line program;
    for (std::size_t columns = 24; columns < 130; ++columns) {
        const OutputTraits output{.colour = true, .unicode = true, .columns = columns};
        for (const auto& line : split(help_text(*program.app.get_subcommand("run"), output), '\n')) {
            REQUIRE_MESSAGE(display_width(line) <= columns, columns << ": " << line);
        }
    }
}

TEST_CASE("an example that is too long goes on behind a backslash, and what is said of it stands above") {
    const Line program;
    const auto text = help_text(*program.app.get_subcommand("logs"), {.unicode = true, .columns = 28});
    CHECK_MESSAGE(text.find("  # of the last ten minutes\n"
                            "  dockdist logs 'a b' \\\n"
                            "      --since 10m\n") != std::string::npos,
                  text);
}

TEST_CASE("for programs, the help of a command says the same, and all that is below it") {
    const Line program;
    const auto all = help_json(program.app);
    REQUIRE(all["commands"].size() == commands_of(program.app).size()); // no hidden one
    CHECK(all["options"][0]["name"] == "--help");
    CHECK(all["options"][1] == nlohmann::json{{"name", "--file"},
                                              {"head", "-f, --file FILE"},
                                              {"value", "FILE"},
                                              {"description", "cluster.yaml"}});
    const auto& run = all["commands"].front();
    CHECK(run["command"] == "dockdist run");
    CHECK(run["group"] == command_group::jobs);
    CHECK(run["usage"] == usage_of(*program.app.get_subcommand("run")));
    CHECK(run["examples"] == nlohmann::json{"dockdist run -- train.py"});
    CHECK(run["arguments"].front()["required"] == true);
    CHECK(run["options"].front() == nlohmann::json{{"name", "--share"},
                                                   {"head", "--share"},
                                                   {"value", nullptr},
                                                   {"description", "Reserve none (not with --gpus)"}});
    const auto image = help_json(*program.app.get_subcommand("image"));
    CHECK(image["commands"].back()["command"] == "dockdist image push");
}

} // namespace help_text_test
