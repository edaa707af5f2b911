#!/usr/bin/env python3
"""Rules for the source that no compiler checks. Each has its reason beside it."""

import argparse
import ast
import pathlib
import re
import sys

MAX_LINES = 400  # a file is one idea and fits one reading
HOST_KEYS_UNCHECKED = re.compile(r"StrictHostKeyChecking[\s=\"']*(no|off|accept-new)\b", re.IGNORECASE)
GUARD = re.compile(r"^\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+\1\b", re.MULTILINE)

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)[^;]*$")


def cpp_files(root):
    for folder in ("src", "tests"):
        yield from sorted(p for p in (root / folder).rglob("*") if p.suffix in {".cpp", ".hpp", ".h", ".cu"})


def too_long(root):
    for path in cpp_files(root):
        count = path.read_bytes().count(b"\n")
        if count > MAX_LINES:
            yield f"{path}: {count} lines; a file is one idea and has {MAX_LINES} at most"


def headers_without_contract(root):
    # A header is what other layers read: it begins with what it is for.
    for path in sorted((root / "src").rglob("*.hpp")):
        if not path.read_text(errors="replace").startswith(("//", "/*")):
            yield f"{path}:1: a header begins with a comment that says what it is for"


def guards(root):
    # Two headers with one guard: the second is silently empty.
    seen = {}
    for path in cpp_files(root):
        if path.suffix not in {".hpp", ".h"}:
            continue
        text = path.read_text(errors="replace")
        guard = GUARD.search(text)
        if guard and guard[1] in seen:
            yield f"{path}: has the include guard of {seen[guard[1]]}: {guard[1]}"
        elif guard:
            seen[guard[1]] = path
        elif "#pragma once" not in text:
            yield f"{path}: has neither #pragma once nor an include guard"


def types_of_one_name(root):
    # Two types of one name in one namespace: the linker takes either, and the program is wrong without a word.
    seen = {}
    for path in sorted((root / "src").rglob("*.hpp")):
        space = ""
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            opened = NAMESPACE.match(line)
            defined = TYPE.match(line)
            if opened:
                space = opened[1]
            elif defined:
                name = f"{space}::{defined[1]}"
                if name in seen:
                    yield f"{path}:{number}: {name} is also defined in {seen[name]}"
                seen.setdefault(name, f"{path}:{number}")


def unchecked_host_keys(root):
    # Keys are pinned. Nothing that dockdist writes or ships may switch that off.
    for folder in ("src", "templates", "docker"):
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if HOST_KEYS_UNCHECKED.search(line):
                    yield f"{path}:{number}: host keys are always checked: {line.strip()}"


# Whatever can write to a terminal past client/report/displayable.hpp. What remains are descriptors of another kind.
WRITES = re.compile(
    r"std::(cout|cerr|clog|wcout|wcerr|print|println|puts|putchar)\b|\b(f|v|vf|d|w)?printf\s*\(|\bfmt::print\w*\s*\("
    r"|\bf?puts\s*\(|\bf?putc(har)?\s*\(|\bfwrite\s*\(|\bperror\s*\(|(?<![\w.>:])writev?\s*\(\s*[^,()\s]+\s*,[^,]*,"
    r"|(?<![\w>])::p?writev?\s*\(|\bwrite_whole\s*\(|\bsendfile\s*\(|\bsplice\s*\(|/dev/(tty|stdout|stderr)|/proc/self/fd"
)
WRITERS = {
    "client/report/output.cpp": "the door",
    "client/job/nonblocking_sink.cpp": "the door for jobs, which may not wait; it takes what is Displayable, too",
    "client/engine/transport/ssh/questions.cpp": "the answer to a question of ssh's, which reads it",
    "client/engine/transport/ssh/terminal_question.cpp": "its own question, printable(), and a line's erasure",
    "client/engine/transport/ssh/terminal_question.hpp": "says so",
    "client/cli/key_watch.cpp": "reads keys",
    "client/cli/ask_yes.cpp": "reads an answer",
    "client/cli/cluster/init.cpp": "a new file",
    "client/cli/nodes/proxy.cpp": "the bytes of an ssh connection, to the ssh that has started it",
    "shared/core/new_file.hpp": "files",
    "shared/core/new_file.cpp": "files",
    "client/cli/output_file.cpp": "a file that the user has named",
    "shared/tree/tree_writer.cpp": "a file",
    "client/job/log_files.cpp": "a file",
    "client/image/tar_reader.cpp": "a file",
    "client/async/child_process.cpp": "a child's pipes",
}
RAW = re.compile(r"\bDisplayable::raw\s*\(")
RAW_WRITERS = {
    "client/report/job_output.cpp": "the ranks' bytes, with --raw",
    "client/cli/looking/full_screen.cpp": "the sequences of a whole screen, around lines that were made safe",
    "client/cli/nodes/terminal.cpp": "`exec` and `ssh`: the bytes of the command that the user runs there",
}


# What is written beside its place and renamed is so in one way, which does not follow what others have planted there.
RENAMES = re.compile(r"(?<![\w>])::renameat2?\s*\(|(?<![\w>])(::|std::|fs::|filesystem::)rename\s*\(|\bofstream\b")
RENAMERS = {
    "shared/core/new_file.cpp": "the one way",
    "node/system/os.cpp": "a deep tree that is removed piece by piece",
    "node/job/adoption.cpp": "a whole folder, to a name that nothing has",
    "node/relay/tree_files.cpp": "what a transfer has begun is gone on with by a later one, under a name that it knows",
}


def other_ways_to_replace_a_file(root):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in {".cpp", ".hpp"} and path.relative_to(root / "src").as_posix() not in RENAMERS:
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if RENAMES.search(line):
                    yield f"{path}:{number}: files are replaced as shared/core/new_file.hpp does it: {line.strip()}"


def round_the_door(root):
    # The client alone: dockdist-init and dockdist-probe write to their container's log and to the client.
    for path in sorted((root / "src").rglob("*")):
        name = path.relative_to(root / "src")
        if path.suffix not in {".cpp", ".hpp"} or name.parts[0] in {"node", "probe"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if WRITES.search(line) and name.as_posix() not in WRITERS:
                yield f"{path}:{number}: what may reach a terminal goes through an OutputSink: {line.strip()}"
            if RAW.search(line) and name.as_posix() not in RAW_WRITERS:
                yield f"{path}:{number}: only the user's own programs write raw bytes: {line.strip()}"


SMI_WORDS = re.compile(r'\{\s*(?:std::string\()?"nvidia-smi"')


def questions_beside_the_list(root):
    # scripts/gpu-day asks a real nvidia-smi what stands in shared/gpu/smi.cpp: a question that stands elsewhere is asked of stand-ins alone.
    for path in sorted((root / "src").rglob("*.?pp")):
        text = path.read_text(errors="replace")
        if path.relative_to(root / "src").as_posix() != "shared/gpu/smi.cpp":
            for found in SMI_WORDS.finditer(text):
                yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: what nvidia-smi is asked stands in shared/gpu/smi.cpp"


# What root runs in a node: nothing that container.user can change (docs/root-in-a-node.md). What guards it stands before the one exec.
EXEC = re.compile(r"(?<![\w.>])(?:::|std::)?(?:exec(?:v|l)(?:p|e|pe)?|execveat|fexecve|posix_spawnp?|popen|system|vfork)\s*\(")
EXECS = {"node/system/program.cpp"}
# A static program loads libraries of the image's for these, as root.
LOADS = re.compile(
    r"(?<![\w.>])(?:::|std::)?(?:dlopen|dlmopen|getaddrinfo|gethostby\w+|getservby\w+|get(?:pw|gr)(?:nam|[ug]id|ent)\w*|initgroups"
    r"|getgrouplist|iconv_open|setlocale|newlocale|nl_langinfo|catopen)\s*\("
)
LOADERS = {"node/relay/relay_socket.cpp": "addresses in numbers; relays are nobody, in containers of their own"}
STARTS = re.compile(r"\b(exec_program|exec_path|become_program|run_helper|believed_helper|toolkit_helper|ask_getent|HelperRun>?)\s*\(")
MECHANISM = {"node/system/program.cpp", "node/system/helper.cpp", "node/system/helper_run.cpp"}
PAGE = "docs/root-in-a-node.md"
# The client has engines start programs as a node's root, too.
AS_ROOT = re.compile(r'"0:0"')
AS_ROOTS = {
    "client/plan/node_config.cpp": "dockdist-init, by its path",
    "client/cluster/join.cpp": "dockdist-init join",
    "client/cluster/toolkit_bringer.cpp": "dockdist-init, in containers of the toolkit's",
    "client/job/node_job.cpp": "dockdist-init job",
    "client/check/node_session.cpp": "dockdist-init check",
    "client/check/probe_group.cpp": "dockdist-init, which becomes container.user",
    "client/forward/node_tunnel.cpp": "dockdist-init tunnel",
    "client/observe/node_command.hpp": "dockdist-init, of whatever asks a node",
    "client/observe/follow_lines.cpp": "dockdist-init sample and gpus",
    "client/sync/node_stream.hpp": "dockdist-init sync",
    "client/cli/nodes/exec.cpp": "dockdist-init, which becomes whom the user says",
    "client/cli/nodes/proxy.cpp": "dockdist-init login",
}


def programs_of_root(root):
    starting = set()
    for path in sorted((root / "src").rglob("*")):
        name = path.relative_to(root / "src").as_posix()
        if path.suffix not in {".cpp", ".hpp"}:
            continue
        node = name.startswith("node/")
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            code = line.split("//")[0]
            if (node or name.startswith("probe/")) and EXEC.search(code) and name not in EXECS:
                yield f"{path}:{number}: programs are started by node/system/program.hpp alone, which guards root: {line.strip()}"
            if node and LOADS.search(code) and name not in LOADERS:
                yield f"{path}:{number}: this would have root load a library of the image's: {line.strip()}"
            if not node and AS_ROOT.search(code) and name not in AS_ROOTS:
                yield f"{path}:{number}: an engine starts dockdist-init alone as root: {line.strip()}"
            if node and path.suffix == ".cpp" and STARTS.search(code) and name not in MECHANISM:
                starting.add(name.removeprefix("node/"))
    page = root / PAGE
    rows = page.read_text().splitlines() if page.exists() else []
    listed = {file for row in rows if row.startswith("| `") for file in re.findall(r"`(\w+(?:/\w+)+\.cpp)`", row.split("|")[1])}
    for file in sorted(starting - listed):
        yield f"{page}: says nothing of the programs that {file} starts"
    for file in sorted(listed - starting):
        yield f"{page}: {file} starts no program"


TEST = re.compile(r"^TEST_CASE(?:_FIXTURE)?\((.*?)\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^( *)(?!TEST_CASE)[\w:<>&*,\[\] ]+ (\w+)\([^;{}]*\)[^;{}]*\{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)
ASSERTION = re.compile(r"\b(?:CHECK|REQUIRE|FAIL)\w*\(")


def tests_that_cannot_fail(root):
    # A test without an assertion passes whatever the code does; under a sanitizer it still says nothing of results.
    texts = {path: path.read_text(errors="replace") for path in cpp_files(root) if path.is_relative_to(root / "tests")}
    helpers = {name for text in texts.values() for _, name, body in FUNCTION.findall(text) if ASSERTION.search(body)}
    for path, text in texts.items():
        for test in TEST.finditer(text):
            called = set(re.findall(r"\b(\w+)\(", test[2]))
            if not ASSERTION.search(test[2]) and not called & helpers:
                number = text.count("\n", 0, test.start()) + 1
                yield f"{path}:{number}: the test asserts nothing: {' '.join(test[1].split())}"


def fuzz_targets_without_promises(root):
    # Under libFuzzer a target that promises nothing finds crashes alone.
    for path in sorted((root / "tests/fuzz").glob("*.cpp")):
        text = path.read_text(errors="replace")
        if not text.startswith("// "):
            yield f"{path}:1: a fuzz target begins with a comment that says what it reads"
        if not re.search(r"\brequire(?:_equal)?\(", text):
            yield f"{path}: the fuzz target requires nothing of what it calls"


# Programs of other languages are files of their own, which dockdist_embed (cmake/layers.cmake) makes constants of.
PROGRAM = re.compile(r'R"(\w*)\(\s*(?:#!|import \w|from \w+ import|def \w+\(|try:|umask |set -|\w+\(\) \{|\w+=[^\n]*\n\w+\(\) \{|[.:*@][^{}"]*\{[^{}"]*\}).*?\)\1"', re.DOTALL)
PIECES = {"client/export/slurm.cpp": "what a script is put together of"}


def programs_in_strings(root):
    for path in sorted((root / "src").rglob("*.?pp")):
        text = path.read_text(errors="replace")
        for found in PROGRAM.finditer(text):
            if "\n" in found[0].strip() and path.relative_to(root / "src").as_posix() not in PIECES:
                yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: a program in a string: see dockdist_embed in cmake/layers.cmake"


def python_of_old_images(root):
    # What an image's own Python runs is written in what Python 3.6 understands.
    for path in sorted((root / "src").rglob("*.py")):
        if path.name not in HERE:
            try:
                ast.parse(path.read_text(), feature_version=(3, 6))
            except SyntaxError as error:
                yield f"{path}:{error.lineno}: not Python 3.6: {error.msg}"


HERE = {"sbom.py"}  # runs where dockdist is built

RULES = (
    too_long,
    headers_without_contract,
    guards,
    types_of_one_name,
    unchecked_host_keys,
    round_the_door,
    other_ways_to_replace_a_file,
    questions_beside_the_list,
    programs_of_root,
    tests_that_cannot_fail,
    fuzz_targets_without_promises,
    programs_in_strings,
    python_of_old_images,
)


def problems(root):
    return [p for rule in RULES for p in rule(root)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    found = problems(parser.parse_args().root)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
