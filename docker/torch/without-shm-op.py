"""Lets DeepSpeed train on CPUs where there is no compiler: it would build its operator for shared memory when a job
starts, and does without one that says it is not compatible."""

import pathlib
import py_compile

path = pathlib.Path("/usr/local/lib/python3.13/dist-packages/deepspeed/ops/op_builder/cpu/comm.py")
before, builder, after = path.read_text().partition("class ShareMemCommBuilder(")
old = "return super().is_compatible(verbose)"
assert old in after, f"{path} is not what it was"
path.write_text(before + builder + after.replace(old, "return False"))
py_compile.compile(str(path), doraise=True)
print("edited", path)
