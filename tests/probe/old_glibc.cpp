// Linked as dockdist-probe is: constructors run, exceptions are caught, threads and dlopen work.
#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

struct Constructed {
    std::string text = "constructed before main";
};
const Constructed constructed;

[[noreturn, gnu::noinline]] void fail() {
    throw std::runtime_error("thrown");
}

bool catches() {
    try {
        fail();
    } catch (const std::exception& error) {
        return error.what() == std::string("thrown");
    }
}

} // namespace

int main() {
    bool in_thread = false;
    std::thread([&] { in_thread = catches(); }).join();
    void* itself = dlopen(nullptr, RTLD_NOW);
    const bool finds = itself != nullptr && dlsym(itself, "malloc") != nullptr;
    const bool good = constructed.text == "constructed before main" && catches() && in_thread && finds;
    std::puts(good ? "all is well" : "something is not");
    return good ? 0 : 1;
}
