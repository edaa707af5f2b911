// What the stub libnccl.so.2 needs of the stub libcuda.so.1, beside the driver's own functions: its streams.
#pragma once

#include <functional>

// Runs `task` on the stream, after what was put there before, in the stream's own thread.
void stub_enqueue(void* stream, std::function<void()> task);
