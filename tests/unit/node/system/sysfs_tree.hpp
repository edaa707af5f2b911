// A folder that is made like the part of sysfs that RDMA devices are in: class/infiniband, class/net and the
// devices of PCI.
#pragma once

#include "unit/node/scratch.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

class SysfsTree {
public:
    std::string infiniband() const { return scratch_ / "class/infiniband"; }
    std::string net() const { return scratch_ / "class/net"; }

    void write(const std::string& path, const std::string& text) const {
        const auto whole = scratch_.path + "/" + path;
        std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
        std::ofstream(whole) << text;
    }
    void link(const std::string& path, const std::string& target) const {
        const auto whole = scratch_.path + "/" + path;
        std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
        std::filesystem::create_symlink(target, whole);
    }

    struct Port {
        std::string device{};
        std::string pci{};
        std::string netdev{};
        std::string state = "4: ACTIVE";
        std::string rate = "200 Gb/sec (4X HDR)";
        std::string layer = "Ethernet";
        int port = 1;
    };
    // As mlx5 shows one: the device's link to its PCI function, the function's interface, a port.
    void add(const Port& port) const {
        const auto folder = "class/infiniband/" + port.device;
        const auto ports = folder + "/ports/" + std::to_string(port.port);
        write(folder + "/node_type", "1: CA\n");
        write(ports + "/state", port.state + "\n");
        write(ports + "/phys_state", "5: LinkUp\n");
        write(ports + "/rate", port.rate + "\n");
        write(ports + "/link_layer", port.layer + "\n");
        if (!port.pci.empty() && !std::filesystem::is_symlink(scratch_.path + "/" + folder + "/device")) {
            std::filesystem::create_directories(scratch_.path + "/devices/" + port.pci);
            link(folder + "/device", "../../../devices/" + port.pci);
        }
        if (!port.netdev.empty()) {
            std::filesystem::create_directories(scratch_.path + "/devices/" + port.pci + "/net/" +
                                                port.netdev);
            write("class/net/" + port.netdev + "/dev_port", std::to_string(port.port - 1) + "\n");
        }
    }
    void add_gid(const std::string& device, int index, const std::string& gid, const std::string& type,
                 const std::string& netdev) const {
        const auto ports = "class/infiniband/" + device + "/ports/1";
        write(ports + "/gids/" + std::to_string(index), gid + "\n");
        write(ports + "/gid_attrs/types/" + std::to_string(index), type + "\n");
        write(ports + "/gid_attrs/ndevs/" + std::to_string(index), netdev + "\n");
    }
    // "10.1.0.5" as v1 and v2 from `index` on, behind the two link-local ones at 0 and 1.
    void add_roce_gids(const std::string& device, const std::string& netdev,
                       const std::vector<std::string>& ipv4, int index = 2) const {
        add_gid(device, 0, "fe80:0000:0000:0000:0ac0:ebff:fe3d:ca54", "IB/RoCE v1", netdev);
        add_gid(device, 1, "fe80:0000:0000:0000:0ac0:ebff:fe3d:ca54", "RoCE v2", netdev);
        for (int i = 2; i < index; ++i) { // what an address that went has left
            write("class/infiniband/" + device + "/ports/1/gids/" + std::to_string(i),
                  "0000:0000:0000:0000:0000:0000:0000:0000\n");
        }
        for (const auto& address : ipv4) {
            add_gid(device, index, mapped(address), "IB/RoCE v1", netdev);
            add_gid(device, index + 1, mapped(address), "RoCE v2", netdev);
            index += 2;
        }
    }

    static std::string mapped(const std::string& ipv4) {
        unsigned a = 0;
        unsigned b = 0;
        unsigned c = 0;
        unsigned d = 0;
        REQUIRE(std::sscanf(ipv4.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d) == 4); // NOLINT(cert-err34-c)
        char text[40];
        std::snprintf(text, sizeof text, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a, b, c, d);
        return text;
    }

private:
    Scratch scratch_{};
};
