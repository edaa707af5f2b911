// Threads that end with their process.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace dockdist::node {

// False: the system gives no more of them now.
template <class Work>
bool start_thread(Work work) {
    try {
        std::thread(std::move(work)).detach();
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

} // namespace dockdist::node
