"""One GPU."""

import os
import time


class nccl:
    @staticmethod
    def version():
        return (2, 28, 9)


class Properties:
    name, total_memory, uuid = "NVIDIA H100 80GB HBM3 (simulated)", 81559 << 20, "5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"


class Event:
    def __init__(self, enable_timing=False):
        self.at = 0.0

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, later):
        return (later.at - self.at) * 1000


def is_available():
    return True


def device_count():
    return 1


def get_device_properties(_):
    return Properties()


def set_device(_):
    pass


def synchronize():
    pass


def _parse_visible_devices():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")


def _device_count_nvml():
    return 1
