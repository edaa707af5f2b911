"""An empty word is a usage error wherever a command line may hold a name: a script's unset variable must not mean "the latest job"."""

import re

from harness.command_tree import commands, dockdist


def test_empty_words_are_usage_errors_everywhere(lab):
    seen = []
    for command, known in commands():
        needed = [word for word, required in known["positionals"] if required]
        for word, _ in known["positionals"]:
            before = needed[:needed.index(word)] if word in needed else needed
            after = needed[needed.index(word) + 1:] if word in needed else []
            seen.append((word, [*command, *(["x"] * len(before)), *(["--"] if word == "COMMAND" else []), "", *(["x"] * len(after))]))
        for option in known["options"]:
            seen.append((option, [*command, option, "", *(["x"] * len(needed))]))
    # The ones that began it, so that a help which is laid out anew does not end the test unseen.
    for wanted in (["stop", ""], ["wait", ""], ["cp", "", "x"], ["cp", "x", ""], ["run", "--", ""], ["logs", ""], ["attach", ""],
                   ["exec", "", ], ["logs", "--node", ""], ["run", "--exclude", "", "x"], ["check", "--node", ""], ["sync", "--node", ""]):
        assert any(words == wanted for _, words in seen), (wanted, seen)
    for name, words in seen:
        done = dockdist(*words)
        assert done.returncode == 2, (words, done)
        assert re.search(r"(^|\W)%s: .*must not be empty" % re.escape(name), done.stderr), (words, done.stderr)


def test_a_program_may_be_given_empty_words(lab):
    done = dockdist("run", "-f", "/nowhere/cluster.yaml", "--", "echo", "")
    assert "/nowhere/cluster.yaml" in done.stderr and "empty" not in done.stderr, done.stderr
