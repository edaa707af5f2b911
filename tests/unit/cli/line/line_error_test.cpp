#include "unit/cli/line/program.hpp"

#include <doctest/doctest.h>

namespace line_error_test {

using namespace dockdist;
using test::Line;

namespace {

std::string said(const std::vector<std::string>& words) {
    return Line().said(words);
}

} // namespace

TEST_CASE("a command that is none is told, with what was meant") {
    CHECK(said({"chekc"}) ==
          "there is no command chekc; did you mean check?\n  `dockdist help` shows the commands");
    CHECK(said({"-o", "json", "nonsense"}) ==
          "there is no command nonsense\n  `dockdist help` shows the commands");
    CHECK(said({"image", "lss"}) == "there is no command lss of `dockdist image`; did you mean ls?\n"
                                    "  `dockdist help image` shows what it takes");
    CHECK(said({"image"}) == "which command of `dockdist image`?\n"
                             "  `dockdist help image` shows what it takes");
    CHECK(said({""}) == "which command?\n  `dockdist help` shows the commands");
    CHECK(said({"__complet"}) == "there is no command __complet\n  `dockdist help` shows the commands");
    CHECK(said({"ps"}) == "there is no command ps; did you mean jobs?\n  `dockdist help` shows the commands");
    CHECK(said({"a\x1b[2J"}) == "there is no command a\\x1b[2J\n  `dockdist help` shows the commands");
}

TEST_CASE("an option that is none is told, with what was meant, and where the command's own words stand") {
    CHECK(said({"check", "--al"}) == "dockdist check has no option --al; did you mean --all?\n"
                                     "  `dockdist help check` shows what it takes");
    CHECK(said({"check", "--ouput=json"}) == "dockdist check has no option --ouput; did you mean --output?\n"
                                             "  `dockdist help check` shows what it takes");
    for (const std::string many : {"--num-nodes", "--num_nodes", "--nnodes"}) {
        CHECK(said({"run", many, "2", "--", "x"}).find("no option " + many + "; did you mean --nodes?") !=
              std::string::npos);
    }
    CHECK(said({"--outptu", "json", "check"}) ==
          "dockdist has no option --outptu; did you mean --output?\n  `dockdist help` shows the commands");
    CHECK(said({"chekc", "--al", "logs"}) ==
          "there is no command chekc; did you mean check?\n  `dockdist help` shows the commands");
    CHECK(said({"run", "train.py", "--lr", "3"}) ==
          "dockdist run has no option --lr\n"
          "  what belongs to the command goes after `--`: dockdist run [OPTIONS] -- COMMAND...");
    CHECK(said({"run", "--", "train.py", "--lr", "3"}).empty());
    CHECK(said({"run", "--nodes", "-odd", "--", "x"}).empty()); // the value of an option is none
    CHECK(said({"logs", "-f", "night"}).empty());
    CHECK(said({"-f", "one.yaml", "logs", "-f"}).empty());
}

TEST_CASE("each value is refused with what is right") {
    CHECK(said({"run", "--gpus", "abc", "--", "x"}) ==
          "--gpus: abc is not a whole number from 1 to 1024\n  `dockdist help run` shows what it takes");
    for (const auto* const word : {"0", "1025", "-1", "1.5", "1e3", "99999999999999999999", " 1", "+1"}) {
        CHECK(said({"run", "--gpus", word, "--", "x"}).find("is not a whole number from 1 to 1024") !=
              std::string::npos);
    }
    CHECK(said({"run", "--gpus", "1024", "--", "x"}).empty());
    CHECK(said({"run", "--timeout", "0", "--", "x"}) ==
          "--timeout: `0` is not a duration above zero\n  write it like 10s, 5m or 1h30m");
    CHECK(said({"run", "--grace", "0", "--", "x"}).empty());
    CHECK(said({"run", "--idle", "abc", "--", "x"}) ==
          "--idle: `abc` is not a duration above zero\n  write it like 30m or 1h30m, or off");
    CHECK(said({"run", "--idle", "off", "--", "x"}).empty());
    CHECK(said({"run", "--grace", "soon", "--", "x"}) ==
          "--grace: `soon` is not a duration\n  write it like 10s, 5m or 1h30m");
    for (const auto* const word : {"99ms", "1h1s", "0", "x"}) {
        CHECK(said({"check", "--interval", word}) ==
              std::string("--interval: `") + word +
                  "` is not a duration from 100ms to 1h\n  write it like 10s, 5m or 1h30m");
    }
    CHECK(said({"check", "--interval", "100ms"}).empty());
    CHECK(said({"check", "--interval", "60m"}).empty());
    CHECK(said({"run", "--log-limit", "3", "--", "x"}) ==
          "--log-limit: `3` is not a size of 1.0 MiB or more\n  write it like 512m or 4g");
    CHECK(said({"run", "--env", "1A=x", "--", "x"}) ==
          "--env: `1A` is not a variable's name\n"
          "  write NAME=VALUE, or NAME to pass on yours: letters, digits and `_`, no digit first");
    CHECK(said({"run", "--env", "A=1=2", "--", "x"}).empty());
    CHECK(said({"run", "--on-stall", "stp", "--", "x"}) ==
          "--on-stall: stp is not one of report, stop\n  did you mean stop?");
    CHECK(said({"logs", "--since", "9999-99-99"}) ==
          "--since: `9999-99-99` is neither a duration nor a point in time\n"
          "  write it like 10m or 30d, like 2026-02-28, or like 2026-02-28T17:30:00Z or "
          "2026-02-28T17:30:00+01:00");
    for (const auto* word : {"2026-02-28T17:30:00Z", "2026-02-28", "30d", "30000000000d"}) {
        CHECK(said({"logs", "--since", word}).empty() == (word != std::string("30000000000d")));
    }
    constexpr std::int64_t now = 1'772'300'000'000;
    CHECK(moment_ms("30d", now) == now - std::int64_t{30} * 24 * 3600 * 1000);
    CHECK(moment_ms("2026-02-28T17:30:00Z", now) == 1'772'299'800'000);
    CHECK(moment_ms("11574d", now) == now - std::int64_t{11574} * 24 * 3600 * 1000);
    CHECK(moment_ms("200000d", now) == 0); // before 1970
    CHECK_FALSE(moment_ms("1969-12-31T00:00:00Z", now).has_value());
    CHECK_FALSE(moment_ms("yesterday", now).has_value());
}

TEST_CASE("an option without its value takes no other word for it") {
    CHECK(said({"run", "--timeout=", "--", "x"}) ==
          "--timeout: must not be empty\n  give it a DURATION, or leave it out");
    CHECK(said({"run", "--timeout", "--", "x"}) ==
          "--timeout: must not be empty\n  give it a DURATION, or leave it out");
    CHECK(said({"run", "--timeout"}) == "--timeout: its value is missing\n  write --timeout DURATION");
    CHECK(said({"-f"}) == "--file: its value is missing\n  write --file FILE");
}

TEST_CASE("an option that takes no value says so") {
    CHECK(said({"check", "--all=yess"}) == "--all: it takes no value\n  write --all alone, or leave it out");
    CHECK(said({"check", "--all"}).empty());
}

TEST_CASE("too much, too little, and what does not go together") {
    CHECK(said({"cp", "a"}) == "dockdist cp needs TO\n  dockdist cp FROM TO");
    CHECK(said({"cp", "a", "b", "c", "d"}) ==
          "dockdist cp takes no more arguments: c d\n  dockdist cp FROM TO");
    CHECK(said({"run", "--gpus", "1", "--gpus", "2", "--", "x"}) ==
          "--gpus: it is given more than once\n  `dockdist help run` shows what it takes");
    CHECK(said({"run", "--share", "--gpus", "1", "--", "x"}) ==
          "--share and --gpus exclude each other\n  keep one of them");
    CHECK(said({"check", "--stage-timeout", "3s"}) ==
          "--stage-timeout needs --deep\n  `dockdist help check` shows what it takes");
}

TEST_CASE("the output that was asked for is known of a line that is wrong") {
    const Line program;
    const auto format = [&](const std::vector<std::string>& words) {
        return read_line(program.app, words).values["--output"];
    };
    CHECK(format({"chekc", "-o", "json"}) == "json");
    CHECK(format({"-ojson", "chekc"}) == "json");
    CHECK(format({"--output=json", "check", "--nope"}) == "json");
    CHECK(format({"run", "--", "x", "-o", "json"}).empty());
}

} // namespace line_error_test
