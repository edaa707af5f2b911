"""What the stub engines (tests/scale) are held against: the lab's newest Docker Engine, visited by every command."""

import json
import os

from harness import ROOT, cluster
from harness.proxy import doors
from harness.recorder import Recorder, merged
from harness.visits import visit

RECORDED = ROOT / "tests/scale/recorded_engine.json"


def test_a_real_engine_is_asked_and_answers_as_recorded(lab):
    version = json.loads(lab.engines[1].call("GET", "/version")[1])["Version"]
    with doors(lab, 2, Recorder) as recorders, cluster(lab, "t-recorded") as c:
        visit(c, recorders[1], "dockdist-lab/busybox", lab.addresses[0])
        heard = merged(recorders)
    if os.environ.get("DOCKDIST_UPDATE_GOLDEN"):
        RECORDED.write_text(json.dumps(heard, indent=1) + "\n")
    recorded = json.loads(RECORDED.read_text())
    assert heard.keys() == recorded.keys(), f"calls to Engine {version}"
    for call, entry in heard.items():
        assert entry["query"] == recorded[call]["query"] and entry["body"] == recorded[call]["body"], call
        for status, shape in recorded[call]["answers"].items():
            # An answer may hold more at another time (a container that has ended, an empty list), not less than dockdist reads.
            assert status in entry["answers"], f"{call}: no answer {status}"
