"""Runs a program as on Linux 4.18, the kernel of the oldest systems with glibc 2.28: what the kernel has learned since, it does not know here.

    old_kernel.py COMMAND…

By seccomp, so all that the program starts is on that kernel, too. What uname says stays, and pidfd_open(2), by which stub engines enter
their containers."""

import ctypes
import os
import platform
import struct
import sys

FIRST_UNKNOWN = {"x86_64": 335, "aarch64": 294}  # system calls: behind rseq(2), which 4.18 has
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
PIDFD_OPEN = 434
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, EQUAL, NOT_BELOW, RETURN = 0x20, 0x15, 0x35, 0x06  # linux/bpf_common.h
ALLOW, ERRNO, ENOSYS = 0x7FFF0000, 0x00050000, 38


def command(*words):
    return [sys.executable, os.path.abspath(__file__), *words]


def forget():
    machine = platform.machine()
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, 4, ARCHITECTURE[machine]), (LOAD, 0, 0, 0), (EQUAL, 2, 0, PIDFD_OPEN), (NOT_BELOW, 0, 1, FIRST_UNKNOWN[machine]),
             (RETURN, 0, 0, ERRNO | ENOSYS), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forget()
    os.execvp(sys.argv[1], sys.argv[1:])
