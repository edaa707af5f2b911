// A libnvidia-ml.so.1 with one GPU, for rehearsals: functions and structures as NVIDIA's nvml.h has them, as
// far as tests/gpu_day/nvml.py calls them. What it tells is made up.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

constexpr int success = 0, not_supported = 3, insufficient_size = 7, timed_out = 10;
constexpr unsigned recovery_action = 230, first_remapped = 142, last_remapped = 145;

int gpu = 0;

int put(char* text, unsigned length, const char* value) {
    return std::snprintf(text, length, "%s", value) < static_cast<int>(length) ? success : insufficient_size;
}

template <class T>
int put(T* into, T value) {
    *into = value;
    return success;
}

} // namespace

extern "C" {

struct nvmlMemory_v2_t {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvmlProcessInfo_t {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct nvmlFieldValue_t {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type, code;
    union {
        unsigned value;
        unsigned long long wide;
    };
};
struct nvmlEventData_t {
    void* device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2() {
    return success;
}
const char* nvmlErrorString(int code) {
    return code == success ? "Success" : code == timed_out ? "Timeout" : "Not Supported";
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    return put(text, length, "550.127.08");
}
int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
    return put(text, length, "12.550.127.08");
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    return put(count, 1U);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
    return put(device, static_cast<void*>(&gpu));
}
int nvmlDeviceGetHandleByUUID(const char*, void** device) {
    return put(device, static_cast<void*>(&gpu));
}
int nvmlDeviceGetIndex(void*, unsigned* index) {
    return put(index, 0U);
}
int nvmlDeviceGetMemoryInfo_v2(void*, nvmlMemory_v2_t* memory) {
    const bool right = memory->version == (sizeof *memory | 2U << 24U);
    memory->total = 81559ULL << 20U;
    memory->used = 1ULL << 20U;
    return right ? success : not_supported;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, nvmlProcessInfo_t* processes) {
    *count = 1;
    processes[0] = {static_cast<unsigned>(::getpid()), 1, ~0U, ~0U};
    return success;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                              unsigned* failure) {
    *correctable = *uncorrectable = *pending = *failure = 0;
    return success;
}
int nvmlDeviceGetFieldValues(void*, int count, nvmlFieldValue_t* values) {
    for (int i = 0; i < count; ++i) {
        const auto field = values[i].field;
        const bool known = field == recovery_action || (field >= first_remapped && field <= last_remapped);
        values[i].type = 1;
        values[i].code = known ? success : not_supported;
        values[i].value = 0;
    }
    return success;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
    rates[0] = rates[1] = 0;
    return success;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    return put(milliwatts, 69300U);
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    return put(celsius, 31U);
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
    return put(mhz, 345U);
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
    return put(reasons, 1ULL);
}
int nvmlDeviceGetSupportedEventTypes(void*, unsigned long long* types) {
    return put(types, 0x1eULL);
}
int nvmlEventSetCreate(void** set) {
    return put(set, static_cast<void*>(&gpu));
}
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) {
    return success;
}
int nvmlEventSetWait_v2(void*, nvmlEventData_t* event, unsigned milliseconds) {
    static bool told = false;
    if (!told) {
        told = true;
        *event = {&gpu, 4, 0, 0, 0};
        return success;
    }
    ::usleep(milliseconds * 1000);
    return timed_out;
}
int nvmlEventSetFree(void*) {
    return success;
}

} // extern "C"
