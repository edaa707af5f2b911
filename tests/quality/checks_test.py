"""The checks of this folder catch what they are for."""

import pathlib

import pytest

import check_layers
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

    def test_the_door_to_the_terminal_and_those_beside_it(self):
        self.write("src/low/a.cpp", 'sink.write(1, Displayable::text(name));\nstd::snprintf(a, b, "%d", c);\n')
        self.write("src/report/output.cpp", "::write(fd, bytes.data(), bytes.size());\n")
        self.write("src/cli/nodes/terminal.cpp", "sink.write(1, Displayable::raw(bytes));\n")
        self.write("src/node/a.cpp", "std::cout << name;\n")
        assert self.problems() == []

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

    def test_a_script_that_parses(self):
        self.write("scripts/run", "#!/bin/sh\necho hello\n")
        self.write("scripts/not-shell", "#!/usr/bin/env python3\nif (\n")
        assert check_shell.problems(self.root) == []


class TestTidyKey(Tree):
    def key(self, command="clang++ -c a.cpp"):
        self.write(".clang-tidy", "Checks: x\n") if not (self.root / ".clang-tidy").exists() else None
        files = [str(self.root / "src/low/one.hpp"), "/usr/include/stdio.h"]
        return tidy.cache_key(self.root, self.root / "build", "version 19", command, files)

    def test_a_source_is_found_in_the_record_of_the_build(self):
        record = "src/low/a.cpp.o: #deps 2, deps mtime 1 (VALID)\n    /project/a.cpp\n    gen/b.hpp\n\nold.o: #deps 1, deps mtime 1 (STALE)\n    c.cpp\n"
        dependencies = tidy.parse_dependencies(pathlib.Path("/build"), record)
        entry = {"command": "clang++ -DX=\\\"1\\\" -o src/low/a.cpp.o -c /project/a.cpp"}
        assert dependencies == {tidy.object_of(entry): ["/project/a.cpp", "/build/gen/b.hpp"]}

    def test_the_same_inputs_give_the_same_key(self):
        assert self.key() == self.key()

    def test_a_changed_header_gives_another_key(self):
        before = self.key()
        self.write("src/low/one.hpp", "// Another.\n#pragma once\n")
        assert before != self.key()

    def test_another_command_gives_another_key(self):
        assert self.key() != self.key("clang++ -DX -c a.cpp")

    def test_other_checks_give_another_key(self):
        before = self.key()
        self.write(".clang-tidy", "Checks: y\n")
        assert before != self.key()
