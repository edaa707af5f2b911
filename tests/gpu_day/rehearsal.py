"""A machine with a GPU as stand-ins have it: nvidia-smi as the lab has it, libraries that compute on the host, and a PyTorch that knows no more than the
parts call."""

import os
import pathlib
import shutil
import subprocess

from gpu_day.part import NOBODY, as_account
from gpu_day.paths import ROOM, ROOT

GPU = {"@UUID@": "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "@BUS@": "3B"}
MORE = ("numa_node=0", "fabric.state=Completed", "fabric.status=Success", "serial=1652823054567")


def environment(build, folder, with_torch):
    """Variables for all that runs, and the folder that the stand-ins' GPU is in."""
    built, stubs = pathlib.Path(build) / "tests/gpu_day/stand-ins", pathlib.Path(build) / "tests/probe"
    for path in (built / "nvidia-smi", built / "libnvidia-ml.so.1", stubs / "cuda/libcuda.so.1", stubs / "nccl-22105/libnccl.so.2"):
        if not path.exists():
            raise FileNotFoundError(f"{path} is not built: scripts/build")
    folder = pathlib.Path(folder)
    for name in ("bin", "lib", "dev", "torch"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    shutil.copy(built / "nvidia-smi", folder / "bin")
    (folder / "bin/nvidia-smi.dev").symlink_to(folder / "dev")
    shutil.copy(ROOM / "stand_ins/py-spy", folder / "bin")
    for library in (built / "libnvidia-ml.so.1", stubs / "cuda/libcuda.so.1", stubs / "nccl-22105/libnccl.so.2"):
        shutil.copy(library, folder / "lib")
    text = (ROOT / "docker/host/gpu").read_text(encoding="utf-8")
    for what, value in GPU.items():
        text = text.replace(what, value)
    (folder / "dev/nvidia0").write_text(text + "".join(f"{line}\n" for line in MORE), encoding="utf-8")
    (folder / "dev/nvidiactl").write_text("", encoding="utf-8")
    variables = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{folder}/lib",
                 "DOCKDIST_STUB_MEMORY": str(16 << 30)}
    if with_torch:
        shutil.copytree(ROOM / "stand_ins/torch", folder / "torch/torch", dirs_exist_ok=True)
        variables["PYTHONPATH"] = str(folder / "torch")
    return variables


def python():
    """One that other accounts can run, too: root's own may lie in its home."""
    for path in (shutil.which("python3"), "/usr/bin/python3"):
        try:
            subprocess.run([path, "-c", ""], check=True, **as_account(NOBODY))
            return path
        except (OSError, subprocess.CalledProcessError):
            continue
    return shutil.which("python3")
