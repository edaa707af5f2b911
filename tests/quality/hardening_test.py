"""The programs that are given away are built as CMakeLists.txt says: what checksec would ask of them, and of their objects."""

import os
import pathlib
import platform
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["DOCKDIST_BUILD"])
PROGRAMS = {"dockdist": BUILD / "dockdist", "dockdist-init": BUILD / "src/node/dockdist-init",
            "dockdist-relay": BUILD / "src/node/dockdist-relay",
            "dockdist-probe": BUILD / "src/probe/dockdist-probe"}
PROGRAMS |= {path.name: path for path in (BUILD / "src").glob("dockdist-*64")}  # the other architecture's


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]


def test_it_is_loaded_anywhere_and_its_tables_are_read_only(program):
    headers = readelf("--file-header", "--program-headers", "--dynamic", program)
    assert re.search(r"Type: +DYN \(Position-Independent", headers)
    assert "GNU_RELRO" in headers
    assert re.search(r"\(FLAGS_1\).*\bNOW\b.*\bPIE\b", headers)
    assert "TEXTREL" not in headers
    stack = re.search(r"GNU_STACK.*", headers).group()
    assert "RWE" not in stack


def test_no_search_path_for_libraries_is_built_in(program):
    assert not re.search(r"\((RPATH|RUNPATH)\)", readelf("--dynamic", program))


def test_no_segment_is_both_written_and_run(program):
    assert not re.search(r"^ +LOAD .* RWE ", readelf("--program-headers", program), re.MULTILINE)


@pytest.mark.parametrize("name", ["dockdist", "dockdist-init", "dockdist-relay"])
def test_it_needs_no_library(name):
    assert "(NEEDED)" not in readelf("--dynamic", PROGRAMS[name])
    assert "INTERP" not in readelf("--program-headers", PROGRAMS[name])


@pytest.mark.parametrize("layer", ["shared/core", "client/engine"])
def test_objects_check_their_stack_their_buffers_and_their_containers(layer):
    archive = BUILD / "src" / layer / f"libdockdist_{pathlib.PurePath(layer).name}.a"
    symbols = readelf("--symbols", archive)
    assert "__stack_chk_fail" in symbols
    assert "glibcxx_assert_fail" in symbols
    if layer == "client/engine":
        assert re.search(r"UND __\w+_chk\b", symbols), "no call is fortified"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a mark of x86-64 objects")
def test_objects_bear_the_mark_of_control_flow_protection():
    notes = readelf("--notes", BUILD / "src/shared/core/libdockdist_core.a")
    assert "IBT, SHSTK" in notes
    assert notes.count("File: ") == notes.count("IBT, SHSTK")
