"""What scripts/demo installs and builds is what it needs: it is the first that a stranger does, and waits for."""

import subprocess

from harness.lab import ROOT


def lines(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.splitlines()


def test_the_demo_installs_no_tools_for_packages_tests_or_the_other_architecture():
    install = ROOT / "scripts/install-packages"
    demo, packages, tests = (set(lines(install, "--list", word)) for word in ("demo", "packages", "tests"))
    assert demo < packages < tests == set(lines(install, "--list"))
    assert not demo & {"rpm", "lintian", "podman", "shellcheck", "python3-pytest"}
    assert not [name for name in demo if "arm64" in name or "aarch64" in name]
    assert set(lines(install, "--libraries")) < demo


def test_the_demo_builds_nothing_for_the_other_architecture_and_no_test(tmp_path):
    """Without pytest here, as on a machine that has the demo's packages alone."""
    script = (ROOT / "scripts/demo").read_text()
    assert "scripts/build $native dockdist" in script
    lines("cmake", "--preset", "default", "-S", ROOT, "-B", tmp_path, "-DDOCKDIST_NATIVE=ON", "-DDOCKDIST_PYTEST=")
    commands = lines("ninja", "-C", tmp_path, "-t", "commands", "dockdist")
    assert len(commands) > 50
    assert not [command for command in commands if "aarch64" in command or "arm64" in command]
    assert not [command for command in commands if "/tests/" in command]
