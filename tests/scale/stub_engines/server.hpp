// The stubs' doors: one for each host, at its own address.
#pragma once

#include "scale/stub_engines/exchange.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <vector>

namespace dockdist::scale {

class Server {
public:
    Server(World& world, int port);
    // Closes the doors of those that refuse connections now, and opens the others.
    void follow_script();

private:
    struct Door;
    static Task<void> accept(std::shared_ptr<Door> door, World& world, Host& host);
    World& world_;
    int port_;
    std::vector<std::shared_ptr<Door>> doors_;
};

} // namespace dockdist::scale
