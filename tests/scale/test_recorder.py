"""What holds stubs against a recording finds what differs."""

import copy
import json
import pathlib

import pytest

from harness.recorder import differences, keys_that_are_read, paths

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_engine.json").read_text())


def test_a_recording_does_not_differ_from_itself():
    assert differences(RECORDED, RECORDED) == []


def test_the_keys_that_dockdist_reads_are_found():
    assert {"Id", "OOMKilled", "RepoTags", "ServerVersion"} <= keys_that_are_read()


def test_shapes_have_types_and_the_keys_of_maps_are_nobodys_business():
    assert paths({"Id": "x", "Labels": {"mine": "y"}, "Mounts": [{"Target": "/a"}, {"ReadOnly": True}], "Pid": 1, "Error": None}) == {
        " object", "Id text", "Labels object", "Mounts list", "Mounts[] object", "Mounts[].Target text", "Mounts[].ReadOnly bool", "Pid number",
        "Error null"}


@pytest.mark.parametrize("change, told", [
    (lambda stub: stub.pop("GET /info"), "GET /info: only with the real engine"),
    (lambda stub: stub.update({"POST /build": {"query": [], "body": [], "answers": {}}}), "POST /build: only with the stub"),
    (lambda stub: stub["POST /containers/create"]["query"].append("platform"), "POST /containers/create: query: platform: only with the stub"),
    (lambda stub: stub["POST /containers/create"]["body"].remove("Image text"), "POST /containers/create: body: Image text: only with the real engine"),
    (lambda stub: stub["POST /containers/X/start"]["answers"].update({"500": []}), "POST /containers/X/start: the stub answers 500, a real engine one of 204"),
    (lambda stub: stub["GET /info"]["answers"]["200"].append("Mood text"), "GET /info: 200: the stub has Mood, a real engine has not"),
    (lambda stub: stub["GET /info"]["answers"]["200"].remove("NCPU number"), "GET /info: 200: the stub lacks NCPU, which dockdist reads"),
    (lambda stub: stub["GET /info"]["answers"].update({"200": ["NCPU text" if line == "NCPU number" else line
                                                               for line in stub["GET /info"]["answers"]["200"]]}),
     "GET /info: 200: NCPU is {'text'} of the stub, {'number'} of a real engine"),
])
def test_each_way_to_differ_is_told(change, told):
    stub = copy.deepcopy(RECORDED)
    change(stub)
    assert told in differences(stub, RECORDED)
