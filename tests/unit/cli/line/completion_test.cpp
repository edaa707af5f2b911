#include "client/cli/line/completion.hpp"
#include "unit/cli/line/program.hpp"

#include <doctest/doctest.h>

namespace completion_test {

using namespace dockdist;
using test::Line;

namespace {

std::vector<Candidate> known(const std::string& kind, const std::string& file) {
    if (kind == "JOB") {
        return {{"night", "running"}, {"day" + file, "done"}};
    }
    if (kind == "NODE" || kind == "NODES") {
        return file.empty() ? std::vector<Candidate>{{"node-0", "ssh://a"},
                                                     {"node-1", "ssh://b"},
                                                     {"@rack1", "a group"}}
                            : std::vector<Candidate>{{"far-" + file, "ssh://c"}};
    }
    return {};
}

// "word word :files".
std::string offered(const std::string& line, const std::string& breaks = "") {
    const Line program;
    std::string text;
    const auto lines = completion_lines(complete_line(program.app, line, known), line, breaks);
    for (std::size_t begin = 0; begin < lines.size();) {
        const auto end = lines.find('\n', begin);
        const auto answer = lines.substr(begin, end - begin);
        text += (text.empty() ? "" : " ") + answer.substr(0, answer.find('\t'));
        begin = end + 1;
    }
    return text;
}

} // namespace

TEST_CASE("commands, and theirs, without what is hidden") {
    CHECK(offered("dockdist ") == "run logs check image cp :none");
    CHECK(offered("dockdist c") == "check cp :none");
    CHECK(offered("dockdist -f a.yaml i") == "image :none");
    CHECK(offered("dockdist image ") == "ls push :none");
    CHECK(offered("dockdist image p") == "push :none");
    CHECK(offered("dockdist _").empty() == false);
    CHECK(offered("dockdist _") == ":none");
    CHECK(offered("dockdist") == ":none");
    CHECK(offered("") == ":none");
}

TEST_CASE("options of the command and of every command, those that were given no more") {
    CHECK(offered("dockdist check --") ==
          "--help --node --listen --deep --stage-timeout --interval --all --file --output :none");
    CHECK(offered("dockdist logs --since 3m --") == "--help --follow --file --output :none");
    CHECK(offered("dockdist run --en") == "--env :none");
    CHECK(offered("dockdist run -- --") == ":files"); // the command's own
}

TEST_CASE("values by what the option takes") {
    CHECK(offered("dockdist run --on-stall ") == "report stop :none");
    CHECK(offered("dockdist run --on-stall=s") == "--on-stall=stop :none");
    CHECK(offered("dockdist -o j") == "json :none");
    CHECK(offered("dockdist -f ") == ":files");
    CHECK(offered("dockdist run --log-dir ") == ":folders");
    CHECK(offered("dockdist run --gpus ") == ":none");
    CHECK(offered("dockdist run --idle ") == "off :none"); // no placeholder is a value
    CHECK(offered("dockdist run --nodes n") == "node-0 node-1 :none");
    CHECK(offered("dockdist run --nodes node-0,n") == "node-0,node-1 :none");
    CHECK(offered("dockdist run --nodes=node-1,") == "--nodes=node-1,node-0 --nodes=node-1,@rack1 :none");
}

TEST_CASE("names where names stand, of the file that the line names") {
    CHECK(offered("dockdist logs ") == "night day :none");
    CHECK(offered("dockdist -f x logs d") == "dayx :none");
    CHECK(offered("dockdist logs --file=x d") == "dayx :none");
    CHECK(offered("dockdist logs night ") == ":none"); // one job alone
    CHECK(offered("dockdist check --node ") == "node-0 node-1 @rack1 :none");
    CHECK(offered("dockdist check x --node ") == "far-x :none");
    CHECK(offered("dockdist check x -f y --node ") == "far-y :none");
    CHECK(offered("dockdist cp n") == "node-0: node-1: :files open");
    CHECK(offered("dockdist cp a node-1") == "node-1: :files open");
}

TEST_CASE("a shell that begins words anew within them gets what stands behind") {
    CHECK(offered("dockdist run --on-stall=s", " =:") == "stop :none");
    CHECK(offered("dockdist run --nodes=node-0,n", " =:") == "node-0,node-1 :none");
    CHECK(offered("dockdist run --nodes @r", " =:@") == "rack1 :none");
}

TEST_CASE("a line is split as a shell does") {
    using Words = std::vector<std::string>;
    CHECK(shell_words("a 'b c' \"d \\\" e\" f\\ g h").words == Words{"a", "b c", "d \" e", "f g", "h"});
    CHECK(shell_words("a b ").words == Words{"a", "b", ""});
    CHECK(shell_words("a 'open q").words == Words{"a", "open q"});
    CHECK(shell_words("a '' b").words == Words{"a", "", "b"});
    CHECK(shell_words("\\").words == Words{"\\"});
    CHECK(
        offered("dockdist -f 'a b' logs da").starts_with(":none")); // a name with a space cannot be typed so
}

TEST_CASE("a path is what its shell will make of it") {
    CHECK(with_home("~/a.yaml", "/home/ada") == "/home/ada/a.yaml");
    CHECK(with_home("$HOME/a.yaml", "/home/ada") == "/home/ada/a.yaml");
    CHECK(with_home("${HOME}/a.yaml", "/home/ada") == "/home/ada/a.yaml");
    CHECK(with_home("~ada/a.yaml", "/home/ada") == "~ada/a.yaml");
    CHECK(with_home("a/~/b", "/home/ada") == "a/~/b");
    CHECK(with_home("", "/home/ada").empty());
}

TEST_CASE("nothing that a shell would obey is offered") {
    const Line program;
    for (const auto* const name :
         {"",   "$(id)", "`id`", "a;id", "a&b",  "a|b", "a>b",  "<(id)", "a b", "~x",   "=ls", "a*",
          "a?", "{a,b}", "[a]",  "!x",   "a\\b", "a'b", "a\"b", "#a",    "a^b", "a\tb", "a\nb"}) {
        const auto completion = complete_line(program.app, "dockdist logs ", [&](auto&&, auto&&) {
            return std::vector<Candidate>{{name}, {"plain"}};
        });
        CHECK_MESSAGE(completion_lines(completion, "dockdist logs ", "") == "plain\n:none\n", name);
    }
}

TEST_CASE("nothing that a terminal would obey is offered, and no endless list") {
    const Line program;
    const auto completion = complete_line(program.app, "dockdist logs ", [](auto&&, auto&&) {
        std::vector<Candidate> many{{"\x1b[2J", "x"}, {"plain", "a\x1b[2J\nb"}};
        for (int i = 0; i < 2000; ++i) {
            many.push_back({"j" + std::to_string(i)});
        }
        return many;
    });
    const auto lines = completion_lines(completion, "dockdist logs ", "");
    CHECK(lines.starts_with("plain\ta\\x1b[2J\\x0ab\nj0\n"));
    CHECK(std::ranges::count(lines, '\n') == 500);
}

TEST_CASE("each shell has a script, and no other") {
    for (const auto& shell : completion_shells()) {
        CHECK(completion_script(shell).find("__complete") != std::string::npos);
    }
    CHECK(completion_script("csh").empty());
}

} // namespace completion_test
