// A libamdhip64.so without a GPU: the stub libcuda.so.1 by HIP's names.
#include <cstddef>

extern "C" {

int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuGetErrorString(int code, const char** text);
int cuDeviceGetCount(int* count);
int cuDeviceGet(int* device, int ordinal);
int cuDeviceGetPCIBusId(char* id, int length, int device);
int cuMemGetInfo_v2(std::size_t* free, std::size_t* all);
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes);
int cuMemAllocHost_v2(void** memory, std::size_t bytes);
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes);
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, std::size_t bytes);
int cuMemsetD8_v2(unsigned long long memory, unsigned char byte, std::size_t bytes);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamQuery(void* stream);
int cuEventCreate(void** event, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuEventElapsedTime(float* milliseconds, void* start, void* end);

int hipInit(unsigned flags) {
    return cuInit(flags);
}
int hipDriverGetVersion(int* version) {
    return cuDriverGetVersion(version);
}
const char* hipGetErrorString(int code) {
    const char* text = nullptr;
    (void)cuGetErrorString(code, &text);
    return text;
}
int hipGetDeviceCount(int* count) {
    return cuDeviceGetCount(count);
}
int hipDeviceGet(int* device, int ordinal) {
    return cuDeviceGet(device, ordinal);
}
int hipDeviceGetName(char* name, int length, int) {
    constexpr char own[] = "Stub GPU of AMD's";
    for (int i = 0; i < length && i < static_cast<int>(sizeof own); ++i) {
        name[i] = own[i];
    }
    return 0;
}
int hipDeviceGetPCIBusId(char* id, int length, int device) {
    return cuDeviceGetPCIBusId(id, length, device);
}
int hipSetDevice(int) {
    return 0;
}
int hipMemGetInfo(std::size_t* free, std::size_t* all) {
    return cuMemGetInfo_v2(free, all);
}
int hipMalloc(unsigned long long* memory, std::size_t bytes) {
    return cuMemAlloc_v2(memory, bytes);
}
int hipMallocHost(void** memory, std::size_t bytes) {
    return cuMemAllocHost_v2(memory, bytes);
}
int hipMemcpyHtoD(unsigned long long to, const void* from, std::size_t bytes) {
    return cuMemcpyHtoD_v2(to, from, bytes);
}
int hipMemcpyDtoH(void* to, unsigned long long from, std::size_t bytes) {
    return cuMemcpyDtoH_v2(to, from, bytes);
}
int hipMemcpyDtoD(unsigned long long to, unsigned long long from, std::size_t bytes) {
    return cuMemcpyDtoD_v2(to, from, bytes);
}
int hipMemsetD8(unsigned long long memory, unsigned char byte, std::size_t bytes) {
    return cuMemsetD8_v2(memory, byte, bytes);
}
int hipDeviceSynchronize() {
    return 0;
}
int hipStreamCreateWithFlags(void** stream, unsigned flags) {
    return cuStreamCreate(stream, flags);
}
int hipStreamQuery(void* stream) {
    return cuStreamQuery(stream);
}
int hipEventCreateWithFlags(void** event, unsigned flags) {
    return cuEventCreate(event, flags);
}
int hipEventRecord(void* event, void* stream) {
    return cuEventRecord(event, stream);
}
int hipEventElapsedTime(float* milliseconds, void* start, void* end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

} // extern "C"
