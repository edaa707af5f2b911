"""torchrun for one rank."""

import os
import sys

options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
command = [word for word in sys.argv[1:] if not word.startswith("--")]
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR=options["master_addr"], MASTER_PORT=options["master_port"])
os.execvp(command[0], command)
