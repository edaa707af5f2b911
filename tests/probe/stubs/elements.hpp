// What the stub libnccl.so.2 does with elements: adds them, and spoils them where a test asks for that.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stub {

std::size_t size_of(int type); // bytes: 9 is bf16, 7 float, others 64-bit whole numbers

// Adds to each element of `to` that of `from`, or takes the lesser one.
void add(unsigned char* to, const unsigned char* from, std::size_t bytes, int type, bool least);

struct Fault {
    std::string what{};
    std::string operation{};
    std::size_t index = 0;
};

// Nothing where this rank behaves in that operation.
Fault fault_in(const char* operation);

// What the fault does to a result; `before` is what the memory held before it.
void spoil(const Fault& fault, const std::vector<unsigned char>& before, unsigned char* result,
           std::size_t bytes, int type);

} // namespace stub
