// A libcuda.so.1 without a GPU: device memory is the process's own, streams are threads that work off their
// tasks in order. DOCKDIST_STUB_GPUS, DOCKDIST_STUB_MEMORY (bytes) and DOCKDIST_STUB_CUINIT (a code) say what
// it has.
#include "probe/stubs/cuda.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

long setting(const char* name, long otherwise) {
    const auto* value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtol(value, nullptr, 10);
}

struct Stream {
    std::mutex mutex{};
    std::condition_variable more{};
    std::deque<std::function<void()>> tasks{};
    bool busy = false;

    void work() {
        std::unique_lock lock(mutex);
        while (true) {
            more.wait(lock, [&] { return !tasks.empty(); });
            const auto task = std::move(tasks.front());
            tasks.pop_front();
            busy = true;
            lock.unlock();
            task();
            lock.lock();
            busy = false;
        }
    }
};

struct Event {
    std::atomic<bool> done = false;
    Clock::time_point time{};
};

std::mutex memory_mutex;
std::map<unsigned long long, std::size_t> allocations;
std::size_t used = 0;

std::size_t total() {
    return static_cast<std::size_t>(setting("DOCKDIST_STUB_MEMORY", 64L << 20));
}

char* host(unsigned long long memory) {
    return reinterpret_cast<char*>(memory);
}

} // namespace

void stub_enqueue(void* stream, std::function<void()> task) {
    auto& queue = *static_cast<Stream*>(stream);
    const std::lock_guard lock(queue.mutex);
    queue.tasks.push_back(std::move(task));
    queue.more.notify_one();
}

extern "C" {

int cuInit(unsigned) {
    return static_cast<int>(setting("DOCKDIST_STUB_CUINIT", 0));
}
int cuDriverGetVersion(int* version) {
    *version = 12040;
    return 0;
}
int cuGetErrorString(int code, const char** text) {
    *text = code == 2     ? "out of memory"
            : code == 100 ? "no CUDA-capable device is detected"
                          : "a stub's error";
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = static_cast<int>(setting("DOCKDIST_STUB_GPUS", 8));
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}
int cuDeviceGetName(char* name, int length, int) {
    std::snprintf(name, static_cast<std::size_t>(length), "Stub GPU");
    return 0;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device));
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    static int primary = 0;
    *context = &primary;
    return 0;
}
int cuCtxSetCurrent(void*) {
    return 0;
}
int cuCtxSynchronize() {
    return 0;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
    const std::lock_guard lock(memory_mutex);
    *all = total();
    *free = total() - used;
    return 0;
}
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
    const std::lock_guard lock(memory_mutex);
    if (used + bytes > total()) {
        return 2;
    }
    *memory = reinterpret_cast<unsigned long long>(std::malloc(bytes));
    allocations[*memory] = bytes;
    used += bytes;
    return 0;
}
int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
    *memory = std::malloc(bytes);
    return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
    std::memcpy(host(to), from, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
    std::memcpy(to, host(from), bytes);
    return 0;
}
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, std::size_t bytes) {
    std::memcpy(host(to), host(from), bytes);
    return 0;
}
int cuMemsetD8_v2(unsigned long long memory, unsigned char byte, std::size_t bytes) {
    std::memset(host(memory), byte, bytes);
    return 0;
}
int cuStreamCreate(void** stream, unsigned) {
    auto* made = new Stream;
    std::thread([made] { made->work(); }).detach();
    *stream = made;
    return 0;
}
int cuStreamQuery(void* stream) {
    auto& queue = *static_cast<Stream*>(stream);
    const std::lock_guard lock(queue.mutex);
    return queue.tasks.empty() && !queue.busy ? 0 : 600;
}
int cuEventCreate(void** event, unsigned) {
    *event = new Event;
    return 0;
}
int cuEventRecord(void* event, void* stream) {
    auto* mark = static_cast<Event*>(event);
    mark->done = false;
    stub_enqueue(stream, [mark] {
        mark->time = Clock::now();
        mark->done = true;
    });
    return 0;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
    const auto& from = *static_cast<Event*>(start);
    const auto& to = *static_cast<Event*>(end);
    if (!from.done || !to.done) {
        return 600;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to.time - from.time).count();
    return 0;
}

} // extern "C"
