"""libnvidia-ml as far as a GPU day asks it (NVIDIA's nvml.h: names, structures, numbers)."""

import ctypes
import time

SUCCESS, NOT_SUPPORTED, TIMEOUT = 0, 3, 10
EVENTS = {0x1: "single-bit ECC error", 0x2: "double-bit ECC error", 0x4: "performance state", 0x8: "Xid", 0x10: "clock", 0x80: "power source",
          0x200: "storm of single-bit ECC errors", 0x400: "DRAM retirement", 0x800: "failed DRAM retirement", 0x1000: "non-fatal poison",
          0x2000: "fatal poison", 0x4000: "GPU unavailable", 0x8000: "recovery action"}
REMAPPED = {142: "correctable", 143: "uncorrectable", 144: "pending", 145: "failure"}
RECOVERY_ACTION = 230
RECOVERY_ACTIONS = ["none", "reset the GPU", "reboot the node", "drain P2P", "drain and reset", "IMEX", "bus reset", "reboot the system"]
CLOCK_SM, TEMPERATURE_GPU = 1, 0


class Memory(ctypes.Structure):  # nvmlMemory_v2_t
    _fields_ = [("version", ctypes.c_uint), *((name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used"))]


class Process(ctypes.Structure):  # nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Value(ctypes.Union):
    _fields_ = [("0", ctypes.c_double), ("1", ctypes.c_uint), ("2", ctypes.c_ulong), ("3", ctypes.c_ulonglong), ("4", ctypes.c_longlong),
                ("5", ctypes.c_int), ("6", ctypes.c_ushort)]  # by nvmlValueType_t


class Field(ctypes.Structure):  # nvmlFieldValue_t
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong), ("latency_us", ctypes.c_longlong),
                ("type", ctypes.c_uint), ("code", ctypes.c_uint), ("value", Value)]


class Event(ctypes.Structure):  # nvmlEventData_t
    _fields_ = [("device", ctypes.c_void_p), ("type", ctypes.c_ulonglong), ("data", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint)]


class Failed(Exception):
    pass


class Nvml:
    """OSError where there is no libnvidia-ml.so.1."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.library.nvmlErrorString.restype = ctypes.c_char_p
        self.call("nvmlInit_v2")

    def code(self, function, *arguments):
        try:
            return getattr(self.library, function)(*arguments)
        except AttributeError as error:
            raise Failed(f"{function}: this library does not have it") from error

    def call(self, function, *arguments):
        if (code := self.code(function, *arguments)) != SUCCESS:
            raise Failed(f"{function}: {self.words(code)}")

    def words(self, code):
        return self.library.nvmlErrorString(code).decode()

    def text(self, function, *before):
        buffer = ctypes.create_string_buffer(96)
        self.call(function, *before, buffer, len(buffer))
        return buffer.value.decode()

    def number(self, function, *before, kind=ctypes.c_uint):
        value = kind()
        self.call(function, *before, ctypes.byref(value))
        return value.value

    def devices(self):
        found = []
        for index in range(self.number("nvmlDeviceGetCount_v2")):
            device = ctypes.c_void_p()
            self.call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device))
            found.append(device)
        return found

    def index_of(self, uuid):
        device = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(device))
        return self.number("nvmlDeviceGetIndex", device)

    def memory(self, device):
        memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
        self.call("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory))
        return {name: getattr(memory, name) for name in ("total", "reserved", "free", "used")}

    def processes(self, device):
        count = ctypes.c_uint(64)
        found = (Process * 64)()
        self.call("nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), found)
        return [(process.pid, process.used) for process in found[:count.value]]

    def remapped_rows(self, device):
        values = [ctypes.c_uint() for _ in REMAPPED]
        self.call("nvmlDeviceGetRemappedRows", device, *map(ctypes.byref, values))
        return dict(zip(REMAPPED.values(), (value.value for value in values)))

    def fields(self, device, numbers):
        """{number: value, or the library's words for why there is none}."""
        asked = (Field * len(numbers))(*(Field(field=number) for number in numbers))
        self.call("nvmlDeviceGetFieldValues", device, len(numbers), asked)
        return {field.field: getattr(field.value, str(field.type)) if field.code == SUCCESS and field.type <= 6 else self.words(field.code)
                for field in asked}

    def figures(self, device):
        """What the sampler shows of a GPU; what the driver does not tell is None."""
        def told(function, *more, kind=ctypes.c_uint):
            try:
                return self.number(function, device, *more, kind=kind)
            except Failed:
                return None

        utilization = (ctypes.c_uint * 2)()
        known = self.code("nvmlDeviceGetUtilizationRates", device, utilization) == SUCCESS
        return {"utilization": utilization[0] if known else None, "memory": self.memory(device)["used"], "power_mw": told("nvmlDeviceGetPowerUsage"),
                "temperature": told("nvmlDeviceGetTemperature", TEMPERATURE_GPU), "clock": told("nvmlDeviceGetClockInfo", CLOCK_SM),
                "reasons": told("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong)}

    def supported_events(self, device):
        mask = self.number("nvmlDeviceGetSupportedEventTypes", device, kind=ctypes.c_ulonglong)
        return {bit: EVENTS.get(bit, hex(bit)) for bit in (1 << place for place in range(64)) if mask & bit}

    def event_set(self, device, mask):
        events = ctypes.c_void_p()
        self.call("nvmlEventSetCreate", ctypes.byref(events))
        self.call("nvmlDeviceRegisterEvents", device, ctypes.c_ulonglong(mask), events)
        return events

    def wait(self, events, seconds):
        """Those that come: [(type, data, ms)]. The last code that it answered with."""
        begun, found, code = time.monotonic(), [], TIMEOUT
        while (left := seconds - (time.monotonic() - begun)) > 0:
            event = Event()
            code = self.code("nvmlEventSetWait_v2", events, ctypes.byref(event), ctypes.c_uint(max(int(left * 1000), 1)))
            if code != SUCCESS:
                break
            found.append((event.type, event.data, round((time.monotonic() - begun) * 1000, 1)))
        self.code("nvmlEventSetFree", events)
        return found, self.words(code)


if __name__ == "__main__":
    library = Nvml()
    print([(library.figures(device), library.supported_events(device)) for device in library.devices()])
