"""Makes torchrun work with a torch that is built without libuv: the environment's USE_LIBUV=0 is heeded by
init_process_group, but not by the rendezvous of torch.distributed.elastic, so each TCPStore there gets the argument."""

import importlib.util
import pathlib
import py_compile
import re

# find_spec of a nested module would import its parents, and torch takes seconds.
distributed = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0]) / "distributed"
call = re.compile(r"(?<=\bTCPStore\()(?P<arguments>[^()]*(?:\([^()]*\)[^()]*)*)\)")


def with_argument(match):
    arguments = match["arguments"]
    if "use_libuv" in arguments or "\n" not in arguments:  # given already, or an example in a docstring
        return match[0]
    return f"{arguments.rstrip().rstrip(',')},\n                use_libuv=False,\n            )"


for path in [distributed / "rendezvous.py", *sorted((distributed / "elastic/rendezvous").glob("*.py"))]:
    old = path.read_text()
    new = call.sub(with_argument, old)
    if new != old:
        path.write_text(new)
        py_compile.compile(str(path), doraise=True)
        print("edited", path)
