"""What arguments and options mean in every command."""

from harness import assert_in
from harness.command_tree import commands, dockdist


def leaves():
    return [(command, known) for command, known in commands() if command and not known["commands"]]


def test_a_file_is_the_same_argument_everywhere(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("image: a\nhosts: 3\n")
    takers = {" ".join(command): command for command, known in leaves()
              if [name for name, _ in known["positionals"]] == ["FILE"] and command != ("init",)}
    assert set(takers) >= {"up", "down", "plan", "status", "check", "validate", "gpus", "top", "hostfile", "sync", "setup", "image ls"}
    for name, command in takers.items():
        done = dockdist(*command, str(file))
        assert_in(str(file), done.stdout + done.stderr)
        twice = dockdist(*command, str(file), "-f", str(file))
        assert (twice.returncode, "exclude each other" in twice.stderr) == (2, True), (name, twice)


def test_a_file_in_a_name_s_place_is_told(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text("image: a\nhosts: [h]\n")
    seen = set()
    for command, known in leaves():
        if known["positionals"] and known["positionals"][0][0] in ("JOB", "NODE"):
            done = dockdist(*command, str(file), "--", "x")
            name = " ".join(command)
            assert_in(f"`{file}` is a file, and no ", done.stderr)
            assert_in(f"the file goes before the command: dockdist -f {file} {name}", done.stderr)
            assert done.returncode == 2
            seen.add(name)
    assert seen >= {"jobs", "logs", "attach", "stop", "wait", "exec", "ssh", "forward", "proxy"}


def test_a_former_option_works_is_told_and_stands_in_no_help(tmp_path):
    (tmp_path / "cluster.yaml").write_text("image: a\nhosts: [{name: far, docker: 'tcp://127.0.0.1:9'}]\ndata: [{from: ./m, to: /srv/m}]\n")
    for command in (["check"], ["data", "ls"]):
        assert "--host " not in dockdist(*command, "--help").stdout
        for option in ("--node", "--host"):
            done = dockdist("-f", str(tmp_path / "cluster.yaml"), *command, option, "nod")
            assert_in("there is no node `nod`", done.stderr)
            assert ("warning: --host: it is called --node now" in done.stderr) == (option == "--host"), done.stderr
