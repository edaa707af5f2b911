"""The flight recorder as Python reaches it."""

import json

from torch.distributed import recorded


def _dump_nccl_trace():
    return recorded(as_pickle=True)


def _dump_nccl_trace_json():
    return json.dumps(recorded(as_pickle=False))
