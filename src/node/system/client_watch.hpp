// Ends a loop with the client for which it runs: when stdin ends, or nothing has come there for a while.
#pragma once

#include "node/system/loop.hpp"

#include <cstdint>

namespace dockdist::node {

class ClientWatch {
public:
    explicit ClientWatch(Loop& loop, std::int64_t silence_ms = 30000);
    ~ClientWatch();
    ClientWatch(const ClientWatch&) = delete;
    ClientWatch& operator=(const ClientWatch&) = delete;

private:
    void hear();
    void watch_silence();

    Loop& loop_;
    std::int64_t silence_ms_;
    std::int64_t last_heard_ms_;
    Loop::Timer timer_ = 0;
};

} // namespace dockdist::node
