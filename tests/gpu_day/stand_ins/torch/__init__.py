"""Stands for PyTorch in rehearsals, as far as tests/gpu_day/ranks calls it. It has a GPU; it computes nothing."""

import time

from torch import cuda, distributed

__all__ = ["cuda", "distributed"]
__version__ = "2.11.0+rehearsed"


class Anything:
    """Whatever is called, asked or reckoned of it is another one."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_, **__):
        return Anything()

    def __pow__(self, _):
        return self

    def __format__(self, _):
        return "0.1234"


class version:
    cuda = "13.0"


nn, optim = Anything(), Anything()


def device(kind, index=0):
    return f"{kind}:{index}"


def ones(*_, **__):
    return Anything()


empty = ones


def randn(*_, **__):
    time.sleep(0.001)  # a step takes some time
    return Anything()


def save(what, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(what["step"]))


def load(path, **_):
    with open(path, encoding="utf-8") as file:
        return {"model": None, "step": int(file.read())}
