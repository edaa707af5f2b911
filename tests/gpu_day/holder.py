"""Takes so many MiB of the first GPU's memory, by the driver alone, says so, and has them until its stdin ends."""

import ctypes
import sys


def main():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_ulonglong()
    for what, code in (("cuInit", lambda: cuda.cuInit(0)),
                       ("cuDeviceGet", lambda: cuda.cuDeviceGet(ctypes.byref(device), 0)),
                       ("cuDevicePrimaryCtxRetain", lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)),
                       ("cuCtxSetCurrent", lambda: cuda.cuCtxSetCurrent(context)),
                       ("cuMemAlloc", lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(int(sys.argv[1]) << 20)))):
        if (number := code()) != 0:
            return f"{what} answers {number}"
    print("holds", flush=True)
    sys.stdin.read()
    return None


if __name__ == "__main__":
    if problem := main():
        print(problem, flush=True)
