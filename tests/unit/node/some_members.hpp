// A cluster of three nodes: two share a host, the third's port is 22.
#pragma once

#include "shared/wire/join.hpp"

inline dockdist::wire::Members some_members() {
    using dockdist::wire::NodeRecord;
    const auto node = [](const char* name, int rank, const char* address, int port, const char* key) {
        return NodeRecord{.node = name,
                          .rank = rank,
                          .address = address,
                          .interface = "eth0",
                          .hostname = std::string("machine-") + address[std::string(address).size() - 1],
                          .ssh_port = port,
                          .slots = 8,
                          .gpus = 8,
                          .user = "root",
                          .user_key = std::string("ssh-ed25519 AAAAuser") + key,
                          .host_key = std::string("ssh-ed25519 AAAAhost") + key};
    };
    return {.cluster = "vision",
            .nodes = {node("a-0", 0, "10.0.0.1", 2222, "A"), node("a-1", 1, "10.0.0.1", 2223, "B"),
                      node("b", 2, "10.0.0.2", 22, "C")}};
}
