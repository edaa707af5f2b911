"""The checks of this folder catch what they are for."""

import json
import os
import pathlib
import shutil
import subprocess
import types

import pytest

import check_history
import check_layers
import check_named_tests
import check_names
import check_patience
import check_shell
import check_source
import tidy

TABLE = """
| folder | holds | may include |
|---|---|---|
| `main.cpp` | entry | all |
| `high/` | x | low |
| `low/` | x | – |
| `low/deep/` | x | low |
"""


class Tree:
    @pytest.fixture(autouse=True)
    def tree(self, tmp_path):
        self.root = tmp_path
        self.write("src/README.md", TABLE)
        self.write("src/low/one.hpp", "// One.\n#pragma once\n")
        self.write("src/low/two.hpp", "// Two.\n#pragma once\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def assert_one(self, found, *words):
        assert len(found) == 1, found
        for word in words:
            assert word in found[0]


class TestNamedTests(Tree):
    def test_what_is_not_there_is_found(self):
        self.write("tests/unit/a_test.cpp", 'TEST_CASE("what is long is "\n          "cut, though")\n')
        self.write("tests/integration/test_b.py", "def test_b_works():\n    pass\n")
        self.write("SECURITY.md", "Held: `tests/unit/a_test.cpp`,\n  \"what is long is cut\"; `tests/integration/test_b.py`, \"b works\".\n")
        self.write("tests/README.md", "| b | `test_b_works` |\n")
        assert check_named_tests.mistakes(self.root) == []
        self.write("tests/README.md", "| b | `test_c`, `unit/c_test.cpp`, `unit/a_test.cpp`, \"what is longer\" |\n")
        assert check_named_tests.mistakes(self.root) == ["tests/README.md: there is no test_c", "tests/README.md: there is no unit/c_test.cpp",
                                                          'tests/README.md: unit/a_test.cpp has no "what is longer"']


class TestHistory(Tree):
    @pytest.mark.parametrize("subject", [
        "job: report the first failure by its rank",
        "report, core: forward all of a reporter in one base; one median",
        "node/job: process what a rank says",
        "docs: pass over what needs GPUs",
        "tests: re-run what failed",
        "cli jobs: feed NO_PROXY to sessions",
        'Revert "job: report the first failure by its rank"',
    ])
    def test_orders_pass(self, subject):
        assert check_history.mistake(subject) is None

    @pytest.mark.parametrize("subject, words", [
        ("Report the first failure", "area"),
        ("job report the first failure", "area"),
        ("Job: report the first failure", "area"),
        ("job: Report the first failure", "small letters"),
        ("job: --since takes a day, too", "small letters"),
        ("job: reported the first failure", "order"),
        ("job: reports the first failure", "order"),
        ("job: reporting of failures", "order"),
        ("job: the first failure by its rank", "order"),
        ("job: who used what", "order"),
        ("job: report the first failure.", "full stop"),
        ("job: report " + "x" * 100, "112 characters"),
        ("fixup! job: report", "area"),
    ])
    def test_other_forms_are_told(self, subject, words):
        assert words in check_history.mistake(subject)

    def git(self, *words, at=check_history.SINCE + 1):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True,
                       env={**os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"})

    def commit(self, subject, **more):
        self.git("commit", "-q", "--allow-empty", "-m", subject, **more)

    def test_commits_since_the_rule_are_looked_at_and_no_merges(self):
        assert check_history.problems(self.root) is None  # no git here, as in a source archive
        self.git("init", "-q", "-b", "main")
        assert check_history.problems(self.root) is None  # no commit
        self.commit("What came before", at=check_history.SINCE)
        self.git("switch", "-q", "-c", "other")
        self.commit("job: report failures")
        self.git("switch", "-q", "main")
        self.commit("docs: say less")
        self.git("merge", "-q", "--no-ff", "-m", "Merge the other", "other")
        assert check_history.problems(self.root) == []
        self.commit("Say more")
        self.assert_one(check_history.problems(self.root), "Say more", "area")
        assert check_history.problems(self.root / "src") is None  # a folder of somebody's own repository
        shallow = self.root / "shallow"
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", str(shallow))
        self.assert_one(check_history.problems(shallow), "Say more")


class TestNames(Tree):
    def problems(self, one, other, deep=False):
        self.write("src/low/CMakeLists.txt", "dockdist_layer(low)\n")
        for path, inside in (("src/low/a.cpp", one), ("src/low/deep/b.cpp" if deep else "src/low/b.cpp", other)):
            self.write(path, f"// A.\nnamespace dockdist {{\nnamespace {{\n\n{inside}\n\n}} // namespace\n}} // namespace dockdist\n")
        return list(check_names.problems(self.root))

    @pytest.mark.parametrize("one, other", [
        ("constexpr int most = 3;", "constexpr std::size_t most{4}; // of these"),
        ("const std::map<int, std::string> names = {\n    {1, \"x\"},\n};", "std::string names;"),
        ("struct Row {\n    int a;\n};", "class Row final : public Base {};"),
        ("enum class State { on, off };", "using State = wire::State;"),
        ("using Kind = wire::One::Kind;", "using Kind = wire::Other::Kind;"),
        ("std::string host_row(const Host& host) {\n    return host.name;\n}", "std::string host_row(const Host& other) { return {}; }"),
        ("void say(std::string_view text) {}", "int say(const std::string& line) {\n    return 1;\n}"),
        ("std::map<A, B> pairs(int a, std::map<A, B> more) {}", "[[nodiscard]] auto pairs(int, const std::map<A, B>&) -> std::map<A, B> {}"),
        ("template <typename T>\nvoid each(T from) {}", "template <typename T> void each(T to) {}"),
        ("int most() {\n    return 3;\n}", "constexpr auto most = [](int) {};"),
        ("Task<int> ask(Engine& engine);\nTask<int> ask(Engine& engine) {}", "Task<int> ask(Engine& other) noexcept {}"),
        ("int most = 1;", 'const char* const most = R"(namespace {\n" { )";'),
    ])
    def test_a_name_that_two_unnamed_namespaces_of_a_library_have(self, one, other):
        self.assert_one(self.problems(one, other, deep=True), "deep/b.cpp:", "src/low/a.cpp, too")

    @pytest.mark.parametrize("one, other", [
        ("int most = 3;", "int least = most_of({.most = 4});"),
        ("namespace fs = std::filesystem;\nusing State = Row::State;", "namespace fs = std::filesystem;\nusing State = Row::State;"),
        ("Json to_json(const Plan& plan) {}", "Json to_json(const Image& image) {}"),
        ("Json to_json(const Plan& plan) {}", "Json to_json(const Plan& plan, int more) {}"),
        ("void one() {\n    int most = 1;\n    if (most > 0) {\n    }\n}", "// int one = 2;\n#define one 2\nint most = 1;"),
        ("int most = 1;\n} // namespace\nvoid one() {}\nnamespace {", "void one() {}"),
        ("namespace a {\nint most = 1;\n}", "namespace b {\nint most = 1;\n}"),
        ("using namespace wire;\nusing wire::Kind;", "using wire::Kind;\nstruct Kinds;"),
        ("bool operator<(A, A) {}", "bool operator<(B, B) {}"),
    ])
    def test_overloads_equal_aliases_and_what_stands_elsewhere_pass(self, one, other):
        assert self.problems(one, other) == []

    def test_libraries_do_not_meet(self):
        self.write("src/high/CMakeLists.txt", "dockdist_layer(high)\n")
        self.write("src/high/a.cpp", "namespace {\nint most = 1;\n}\n")
        self.write("src/low/CMakeLists.txt", "dockdist_layer(low)\n")
        self.write("src/low/a.cpp", "namespace {\nint most = 1;\n}\n")
        assert list(check_names.problems(self.root)) == []


class TestLayers(Tree):
    def problems(self):
        return check_layers.problems(self.root / "src")

    def test_includes_of_the_table_pass(self):
        self.write("src/high/a.cpp", '#include "high/b.hpp"\n#include "low/one.hpp"\n#include <vector>\n')
        self.write("src/high/b.hpp", "// B.\n")
        self.write("src/main.cpp", '#include "high/b.hpp"\n#include "low/two.hpp"\n')
        assert self.problems() == []

    def test_a_lower_layer_must_not_include_a_higher_one(self):
        self.write("src/high/b.hpp", "// B.\n")
        self.write("src/low/bad.cpp", '\n#include "high/b.hpp"\n')
        self.assert_one(self.problems(), "low/bad.cpp:2", "low must not include", "high/b.hpp")

    def test_a_folder_with_a_row_of_its_own_is_not_open_with_the_one_around_it(self):
        self.write("src/low/deep/three.hpp", '// Three.\n#include "low/two.hpp"\n')
        self.write("src/high/a.cpp", '#  include "low/deep/three.hpp"\n')
        self.assert_one(self.problems(), "high/a.cpp:1", "low/deep/three.hpp")

    def test_a_folder_without_a_row_belongs_to_the_one_around_it(self):
        self.write("src/low/other/four.hpp", "// Four.\n")
        self.write("src/high/a.cpp", '#include "low/other/four.hpp"\n')
        assert self.problems() == []

    def test_a_folder_without_a_row_is_reported(self):
        self.write("src/other/a.cpp", "\n")
        self.assert_one(self.problems(), "other/a.cpp", "no row")

    def test_an_include_that_hides_its_layer_is_reported(self):
        self.write("src/high/a.cpp", '#include "../low/two.hpp"\n')
        self.assert_one(self.problems(), "../low/two.hpp")

    def test_a_table_that_names_a_layer_without_a_row_is_reported(self):
        self.write("src/README.md", TABLE + "| `top/` | x | hihg |\n")
        self.assert_one(self.problems(), "top may include hihg")

    def test_a_wing_includes_of_itself_and_of_shared_alone(self):
        self.write(
            "src/README.md",
            "| `main.cpp` | x | all | – |\n\n## `client/`\n\n| `job/` | x | – | wire |\n\n## `node/`\n\n| `node/` | x | job | – |\n| `job/` | x | – | wire |\n\n"
            "## `shared/`\n\n| `wire/` | x | – |\n",
        )
        for room in ("client/job", "node/job", "shared/wire"):
            self.write(f"src/{room}/one.hpp", "// One.\n")
        shutil.rmtree(self.root / "src/low")
        self.write("src/main.cpp", '#include "client/job/one.hpp"\n#include "node/job/one.hpp"\n')
        self.write("src/node/main.cpp", '#include "node/job/one.hpp"\n')
        self.write("src/node/job/a.cpp", '#include "node/job/one.hpp"\n#include "shared/wire/one.hpp"\n')
        assert self.problems() == []
        self.write("src/node/job/a.cpp", '#include "client/job/one.hpp"\n')
        self.assert_one(self.problems(), "node/job must not include", "client/job/one.hpp")
        self.write("src/node/job/a.cpp", "\n")
        self.write("src/shared/wire/a.cpp", '#include "node/job/one.hpp"\n')
        self.assert_one(self.problems(), "shared/wire must not include")

    def test_a_readme_without_a_table_is_reported(self):
        self.write("src/README.md", "nothing")
        self.assert_one(self.problems(), "no table")


class TestSource(Tree):
    def problems(self):
        return check_source.problems(self.root)

    def test_a_clean_tree_passes(self):
        self.write("src/low/a.cpp", "x\n" * check_source.MAX_LINES)
        self.write("src/low/b.cpp", 'auto s = "StrictHostKeyChecking yes";\n')
        assert self.problems() == []

    def test_a_long_file(self):
        self.write("tests/a.cpp", "x\n" * (check_source.MAX_LINES + 1))
        self.assert_one(self.problems(), "tests/a.cpp", "401 lines")

    def test_a_header_without_a_leading_comment(self):
        self.write("src/low/a.hpp", "#pragma once\n// Late.\n")
        self.assert_one(self.problems(), "low/a.hpp:1", "comment")

    def test_two_headers_with_one_guard(self):
        text = "// A.\n#ifndef A_H\n#define A_H\n#endif\n"
        self.write("src/low/a.hpp", text)
        self.write("src/low/b.hpp", text)
        self.assert_one(self.problems(), "low/b.hpp", "A_H")

    def test_a_header_without_a_guard(self):
        self.write("src/low/a.hpp", "// A.\n")
        self.assert_one(self.problems(), "low/a.hpp", "neither")

    @pytest.mark.parametrize(
        "text",
        [
            "std::cout << name;",
            'fmt::print("{}", name);',
            'std::fprintf(stderr, "%s", name);',
            "::write(fd, name.data(), name.size());",
            "write(STDERR_FILENO, name.data(), name.size());",
            "std::fwrite(name.data(), 1, name.size(), stdout);",
            'open("/dev/tty", O_WRONLY);',
            "sink.write(1, Displayable::raw(name));",
        ],
    )
    def test_a_way_round_the_door_to_the_terminal(self, text):
        self.write("src/low/a.cpp", f"{text}\n")
        self.assert_one(self.problems(), "low/a.cpp:1", text)

    @pytest.mark.parametrize("text", ["::rename(a, b);", "std::rename(a, b);", "::renameat(f, a, f, b);", "fs::rename(a, b);", "std::ofstream out(a);"])
    def test_another_way_to_replace_a_file(self, text):
        self.write("src/node/a.cpp", f"{text}\n")
        self.write("src/shared/core/new_file.cpp", f"{text}\n")
        self.write("src/low/b.cpp", "engine.rename_container(a, b);\n")
        self.assert_one(self.problems(), "node/a.cpp:1", text)

    def test_the_door_to_the_terminal_and_those_beside_it(self):
        self.write("src/low/a.cpp", 'sink.write(1, Displayable::text(name));\nstd::snprintf(a, b, "%d", c);\n')
        self.write("src/client/report/output.cpp", "::write(fd, bytes.data(), bytes.size());\n")
        self.write("src/client/cli/nodes/terminal.cpp", "sink.write(1, Displayable::raw(bytes));\n")
        self.write("src/node/a.cpp", "std::cout << name;\n")
        assert self.problems() == []

    def test_a_question_to_nvidia_smi_beside_the_list(self):
        self.write("src/shared/gpu/smi.cpp", 'argv = {"nvidia-smi", "-L"};\n')
        self.write("src/low/a.cpp", 'find_program("nvidia-smi");\nask({\n    "nvidia-smi", "-q"});\n')
        self.assert_one(self.problems(), "low/a.cpp:2", "shared/gpu/smi.cpp")

    @pytest.mark.parametrize("text", ["::execve(path, argv, environment);", 'execlp("nvidia-smi", "nvidia-smi", nullptr);', "std::system(line);",
                                      'FILE* out = popen("getent hosts", "r");', "::posix_spawnp(&pid, name, 0, 0, argv, environ);",
                                      'void* handle = ::dlopen("libnss_files.so.2", 0);', "::getaddrinfo(name, 0, 0, &found);", "getpwnam(name);"])
    def test_a_program_or_a_library_that_root_takes_past_its_guard(self, text):
        self.write("src/node/a.cpp", f"{text}\n")
        self.assert_one(self.problems(), "node/a.cpp:1", text)

    def test_the_guard_of_root_and_its_page(self):
        self.write("src/node/system/program.cpp", "::execve(path, argv, environment);\n")
        self.write("src/node/a.cpp", "bool is_of_system(x); link.exec(y); // execve(\n")
        assert self.problems() == []
        self.write("src/node/job/a.cpp", "return exec_program(argv, environment);\n")
        self.assert_one(self.problems(), "docs/root-in-a-node.md", "job/a.cpp")
        self.write("docs/root-in-a-node.md", "| `job/a.cpp`, `job/b.cpp` | a job | user |\n")
        self.assert_one(self.problems(), "job/b.cpp starts no program")

    def test_an_engine_that_starts_another_program_as_a_node_s_root(self):
        self.write("src/low/a.cpp", 'config.user = "0:0";\n')
        self.assert_one(self.problems(), "low/a.cpp:1", "dockdist-init alone")

    @pytest.mark.parametrize("text", ["import os\nprint(1)\n", "\ntry:\n    pass\n", "umask 077\necho\n", "run() {\n}\n", "stopped=\nrun() {\n}\n", "\n:root { a: b; }\n.x { }\n"])
    def test_a_program_in_a_string(self, text):
        self.write("src/low/a.cpp", f'const char* one = R"({text})";\n')
        self.assert_one(self.problems(), "low/a.cpp:1", "dockdist_embed")

    def test_text_in_a_string_and_programs_in_files(self):
        self.write("src/low/a.cpp", 'const char* one = R"(Usage: x\n  import what is there\n)";\nconst char* two = R"({"a":1})";\n')
        self.write("src/low/a.py", "import os\nprint(f'{os}')\n")
        assert self.problems() == []
        self.write("src/low/a.py", "if (a := 1):\n    pass\n")
        self.assert_one(self.problems(), "low/a.py:1", "Python 3.6")

    def test_two_types_of_one_name(self):
        text = "// A.\n#pragma once\nnamespace dockdist {\n\nclass Stream;\n%s Stream {\n"
        self.write("src/low/a.hpp", text % "class")
        self.write("src/low/b.hpp", text % "struct")
        self.write("src/low/c.hpp", (text % "struct").replace("dockdist", "dockdist::other"))
        self.assert_one(self.problems(), "low/b.hpp:6", "dockdist::Stream", "low/a.hpp:6")

    @pytest.mark.parametrize("text", ["StrictHostKeyChecking no", "-oStrictHostKeyChecking=accept-new", 'stricthostkeychecking "no"'])
    def test_host_keys_that_are_not_checked(self, text):
        self.write("src/low/a.cpp", f"// {text}\n")
        self.assert_one(self.problems(), "low/a.cpp:1", "always checked")


class TestAssertions(Tree):
    def problems(self):
        return check_source.problems(self.root)

    def test_a_test_without_an_assertion_is_named(self):
        self.write("tests/unit/a.cpp", 'TEST_CASE("it is survived") {\n    (void)parse("x");\n}\n')
        self.assert_one(self.problems(), "tests/unit/a.cpp:1", "asserts nothing", "it is survived")

    def test_a_fuzz_target_that_promises_nothing_is_named(self):
        self.write("tests/fuzz/a.cpp", "// What a says.\nvoid fuzz::one_input(std::string_view input) {\n    (void)parse(input);\n}\n")
        self.assert_one(self.problems(), "tests/fuzz/a.cpp", "requires nothing")

    def test_an_assertion_may_stand_in_a_helper(self):
        self.write("tests/helper.hpp", "// H.\n#pragma once\ninline void check_it(int x) {\n    CHECK(x == 1);\n}\n")
        self.write("tests/unit/a.cpp", 'TEST_CASE("one") {\n    check_it(1);\n}\n\nTEST_CASE("two") {\n    REQUIRE(true);\n}\n')
        assert self.problems() == []


class TestShell(Tree):
    def test_a_script_that_does_not_parse(self):
        self.write("scripts/run", "#!/usr/bin/env bash\nif true; then\n")
        assert check_shell.problems(self.root)

    def test_scripts_of_the_source_are_for_any_sh(self):
        self.write("tests/a.sh", "diff <(echo a) b\n")
        assert check_shell.problems(self.root) == []
        self.write("src/low/a.sh", "diff <(echo a) b\n")
        assert check_shell.problems(self.root)

    def test_a_script_that_parses(self):
        self.write("scripts/run", "#!/bin/sh\necho hello\n")
        self.write("scripts/not-shell", "#!/usr/bin/env python3\nif (\n")
        assert check_shell.problems(self.root) == []


class TestTidy(Tree):
    def key(self, command="ccache clang++ -Isrc -o a.o -c a.cpp", root=None):
        root = root or self.root
        if not (root / ".clang-tidy").exists():
            self.write(".clang-tidy", "Checks: x\n")
        return tidy.cache_key(root, root / "build", "version 19", tidy.compiler_flags(command), {root / "src/low/one.hpp"})

    def test_what_a_source_is_made_of_is_found_by_its_includes(self):
        self.write("src/low/one.hpp", '// One.\n#pragma once\n#include "low/two.hpp"\n#include <vector>\n')
        self.write("src/high/a.cpp", '#include "b.hpp"\n#  include "low/one.hpp"\n#include "nowhere.hpp"\n')
        self.write("src/high/b.hpp", "// B.\n")
        found = tidy.Includes([self.root / "src"]).closure(self.root / "src/high/a.cpp")
        assert found == {self.root / "src" / name for name in ("high/a.cpp", "high/b.hpp", "low/one.hpp", "low/two.hpp")}

    def test_the_same_source_in_another_checkout_gives_the_same_key(self, tmp_path_factory):
        other = tmp_path_factory.mktemp("checkout")
        self.write("src/low/one.hpp", f'// One of {self.root}.\n')
        before = self.key(f"clang++ -I{self.root}/src -c a.cpp")
        shutil.copytree(self.root, other, dirs_exist_ok=True)
        (other / "src/low/one.hpp").write_text(f'// One of {other}.\n')
        assert before == self.key(f"clang++ -I{other}/src -c b.cpp", other)

    def test_neither_the_batch_that_it_is_compiled_in_nor_what_is_written_counts(self):
        assert tidy.compiler_flags("env A=1 ccache /usr/bin/clang++-19 -DX -Isrc -MD -MT o -MF o.d -o unity_0.o -c unity_0.cxx") == ["-DX", "-Isrc"]

    def test_a_changed_header_another_command_and_other_checks_give_another_key(self):
        keys = {self.key(), self.key("clang++ -DX -Isrc -c a.cpp")}
        self.write("src/low/one.hpp", "// Another.\n#pragma once\n")
        keys.add(self.key())
        self.write(".clang-tidy", "Checks: y\n")
        keys.add(self.key())
        assert len(keys) == 4

    def git(self, *words, day=1):
        date = f"2026-01-{day:02}T12:00:00Z"
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True,
                       env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date})

    def todo(self, monkeypatch, changed=True):
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.root / "cache"))
        options = types.SimpleNamespace(all=False, only="")
        found, _, _ = tidy.batches(self.root, self.root / "build", options, tidy.changed_files(self.root) if changed else None)
        return sorted(source.name for batch in found for source in batch.sources)

    def test_only_what_late_commits_have_changed_is_looked_at(self, monkeypatch):
        self.write(".gitignore", "build/\ncache/\n")
        for name, header in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "two")):
            self.write(f"src/low/{name}.cpp", f'#include "low/{header}.hpp"\n')
        entries = [{"directory": str(self.root), "file": f"src/low/{name}.cpp", "command": f"clang++ -o {name}.o -c src/low/{name}.cpp"} for name in "abcd"]
        self.write("build/compile_commands.json", json.dumps(entries))
        self.write(".clang-tidy", "Checks: x\n")
        assert self.todo(monkeypatch) == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]  # no git here
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", day=1)
        assert self.todo(monkeypatch) == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]  # all is of this day
        self.write("src/low/two.hpp", "// Two, another.\n")
        self.git("commit", "-q", "-a", "-m", "x", day=5)
        assert self.todo(monkeypatch) == ["c.cpp", "d.cpp"]  # by a header
        self.write("src/low/a.cpp", "\n")
        assert self.todo(monkeypatch) == ["a.cpp", "c.cpp", "d.cpp"]  # not committed
        self.git("commit", "-q", "-a", "-m", "x", day=8)
        assert self.todo(monkeypatch) == ["a.cpp"]
        assert self.todo(monkeypatch, changed=False) == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]
        self.write(".clang-tidy", "Checks: y\n")
        assert self.todo(monkeypatch) == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]


class TestPatience(Tree):
    def problems(self):
        return list(check_patience.problems(self.root))

    @pytest.mark.parametrize("line", [
        "assert time.monotonic() - begin < 5",
        "assert 5 > time.monotonic() - begin, what",
        "assert 4 < time.perf_counter() - begin <= 2 * 8",
        "assert world.seconds < 12",
        "assert listed['duration_ms'] < 30000",
        "assert time.time() - died < LIMIT",
        "assert time.monotonic() < deadline",
        "assert taken < 5",
        "assert begin + 5 >= time.monotonic()",
        "if time.monotonic() > deadline:\n        raise AssertionError('late')",
        "if took > 3:\n        pytest.fail('late')",
        r"re.search(r'for \d+ s$', text)",
        r"re.search(r'4, 0\.00\d+ GPU hours', text)",
        r"re.search(r'round trip [\d.]+ ms', text)",
    ])
    def test_a_bound_in_seconds_and_a_pattern_for_short_durations_are_found(self, line):
        self.write("tests/one_test.py", "LIMIT = 2 + 8\n\n\ndef test_one(begin):\n    deadline = time.monotonic() + 20\n"
                   f"    taken = time.monotonic() - begin\n    {line}\n")
        self.assert_one(self.problems(), "tests/one_test.py:7")

    @pytest.mark.parametrize("line", [
        "assert time.monotonic() - begin > 1.5",  # what takes its time takes it on a busy machine, too
        "assert watch.within(5), watch",
        "assert taken[1] <= 2 * taken[0]",
        "assert len(lines) < 5",
        "assert usage['peak'] < 4",
        "while time.monotonic() - begin < 1:\n        ping()",
        "re.search(rf'for {DURATION}$', text)",
        r"re.search(r'\d+ steps', text)",
    ])
    def test_ratios_lower_bounds_and_watches_pass(self, line):
        self.write("tests/one_test.py", f"def test_one(begin, taken):\n    {line}\n")
        assert self.problems() == []

    @pytest.mark.parametrize("line", [
        "CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));",
        "REQUIRE(elapsed < 500ms);",
        "CHECK_FALSE(Clock::now() > end); CHECK(std::chrono::steady_clock::now() < deadline);",
    ])
    def test_in_cpp_too(self, line):
        self.write("tests/unit/one_test.cpp", f"auto deadline = std::chrono::steady_clock::now() + 20s;\n{line}\n")
        self.assert_one(self.problems(), "one_test.cpp:2")
        self.write("tests/unit/one_test.cpp", "CHECK(std::chrono::steady_clock::now() < patience_ends());\nCHECK(parsed == 500ms);\n")
        assert self.problems() == []
