// What `ip` does to links, addresses and routes, for thousands of them without a process each: rtnetlink(7).
#pragma once

#include "shared/core/fd.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace dockdist::scale {

using HardwareAddress = std::array<std::uint8_t, 6>;

// Of the network namespace in which it was made. Throws std::system_error with what was asked of the kernel.
class LinkMessages {
public:
    LinkMessages();

    // A pair of virtual interfaces: one here, the other in the namespace that the descriptor names.
    void add_pair(const std::string& here, HardwareAddress hardware_here, const std::string& there,
                  HardwareAddress hardware_there, int namespace_there);
    void set_up(const std::string& link, bool up = true);
    void add_address(const std::string& link, std::uint32_t address); // host byte order, as all here
    // By way of `gateway`, which is on the link; 0: what is there is on the link itself.
    void add_route(const std::string& link, std::uint32_t destination, unsigned bits, std::uint32_t gateway);
    // Known for good: nobody asks for it by ARP, and it counts towards no limit of the kernel's table.
    void add_neighbour(const std::string& link, std::uint32_t address, HardwareAddress hardware);

private:
    class Message;
    void send(Message& message, const char* what);
    Fd socket_;
    std::uint32_t number_ = 0;
};

} // namespace dockdist::scale
