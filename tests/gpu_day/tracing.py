"""What one process may read of another. `tracing.py PID` tries it, and prints JSON; started() runs a program as dockdist's root, say."""

import ctypes
import ctypes.util
import json
import os
import signal
import subprocess
import sys

CAPABILITIES = ("CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN "
                "NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
                "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON "
                "BPF CHECKPOINT_RESTORE").split()  # by number (linux/capability.h)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_PTRACER = 24, 38, 0x59616D61
PTRACE_DETACH, PTRACE_SEIZE = 17, 0x4206
CAPSET_VERSION = 0x20080522
FILES = ("stat", "status", "cmdline", "environ", "maps", "mem", "io", "wchan", "syscall", "stack", "smaps_rollup")


def libc():
    return ctypes.CDLL(None, use_errno=True)


def keep_capabilities(names):
    """This process, and what it executes, has these alone, as far as it has them."""
    library = libc()
    with open("/proc/self/status", encoding="utf-8") as status:
        had = next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm:"))
    kept = sum(1 << CAPABILITIES.index(name) for name in names) & had
    for number in range(len(CAPABILITIES)):
        if not kept >> number & 1:
            library.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPSET_VERSION, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)  # effective, permitted, inheritable; twice
    if library.capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def as_identity(identity, capabilities, uid, consents=False):
    """Words for subprocess. identity: root, rank (the ranks' own account), node (dockdist's root in a container), node-as-rank (that one, as it becomes the
    account before it looks). consents: lets all of this machine's processes look at it, where the kernel has Yama, as a rank shim could before it executes."""
    def become():
        if identity.startswith("node"):
            if os.geteuid() == 0:
                keep_capabilities(capabilities)
        if identity in ("rank", "node-as-rank") and uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        if consents:
            libc().prctl(PR_SET_PTRACER, 1, 0, 0, 0)
    return {"preexec_fn": become}


def outcome(code):
    return "allowed" if code >= 0 else os.strerror(ctypes.get_errno())


def seize(pid):
    library = libc()
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    library.ptrace.restype = ctypes.c_long
    code = library.ptrace(PTRACE_SEIZE, pid, None, None)
    said = outcome(code)
    if code == 0:
        library.ptrace(PTRACE_DETACH, pid, None, None)
    return said


def read_memory(pid):
    """process_vm_readv of eight bytes where the program lies, by /proc/PID/maps."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            address = next(int(line.split("-")[0], 16) for line in maps if " r" in line)
    except OSError as error:
        return f"maps: {error.strerror}"
    library = libc()
    buffer = ctypes.create_string_buffer(8)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    local, remote = Vector(ctypes.addressof(buffer), 8), Vector(address, 8)
    library.process_vm_readv.restype = ctypes.c_ssize_t
    return outcome(library.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            text = file.read(1) if name == "mem" else file.read(4096)
    except OSError as error:
        # Address 0 is nobody's memory: who comes so far may read.
        return "allowed" if name == "mem" and error.errno == 5 else error.strerror
    return text.decode(errors="replace").strip()[:40] or "empty" if name in ("wchan", "syscall") else "allowed"


def look(pid):
    found = {"uid": os.geteuid(), "ptrace": seize(pid), "process_vm_readv": read_memory(pid)}
    found.update({name: read_proc(pid, name) for name in FILES})
    return found


def yama():
    """What this kernel has of it: the setting, and what PR_SET_PTRACER answers and whether it lasts."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="utf-8") as file:
            scope = file.read().strip()
    except OSError as error:
        scope = f"none ({error.strerror})"
    code = libc().prctl(PR_SET_PTRACER, 1, 0, 0, 0)
    return {"ptrace_scope": scope, "PR_SET_PTRACER": outcome(code)}


def started(argv, identity, capabilities, uid, limit=30, **words):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False, text=True,
                          errors="replace", **as_identity(identity, capabilities, uid), **words)


def wait_with_child():
    """Is there to be looked at, as is what it has forked; that one's PID is all that it prints."""
    child = os.fork()
    if child:
        print(child, flush=True)
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1] == "wait":
        wait_with_child()
    print(json.dumps(look(int(sys.argv[1]))))
