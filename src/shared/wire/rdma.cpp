#include "shared/wire/rdma.hpp"

#include "shared/core/ip_address.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr std::size_t longest_word = 64;
constexpr int most_ports_of_a_device = 255; // a byte of the verbs
constexpr int highest_gid = 255;
constexpr std::int64_t fastest_mbps = 100'000'000;

bool is_device_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

void read_port_word(ObjectReader& reader, const char* key, std::string& word) {
    reader.read(key, word);
    const bool plain = std::ranges::all_of(word, [](char c) { return c >= ' ' && c < '\x7F'; });
    if (!plain || word.size() > longest_word) {
        reader.fail(std::string("\"") + key + "\" of an RDMA port must be a short plain word");
    }
}

void read_gid(ObjectReader& reader, const json& item, RdmaGid& gid) {
    const bool whole = item.is_array() && item.size() == 4 && item[0].is_number_integer() &&
                       item[1].is_string() && item[2].is_number_integer() && item[3].is_string();
    if (!whole) {
        return reader.fail("\"gids\" of an RDMA port must be arrays of index, address, prefix and interface");
    }
    const auto index = item[0].get<std::int64_t>();
    const auto prefix = item[2].get<std::int64_t>();
    gid.address = item[1].get<std::string>();
    gid.netdev = item[3].get<std::string>();
    const int bits = read_ipv4(gid.address) ? 32 : 128;
    if (index < 0 || index > highest_gid || prefix < 0 || prefix > bits || !is_ip_address(gid.address) ||
        gid.netdev.size() > longest_word ||
        !std::ranges::all_of(gid.netdev, [](char c) { return c > ' ' && c < '\x7F'; })) {
        return reader.fail("an invalid GID of an RDMA port");
    }
    gid.index = static_cast<int>(index);
    gid.prefix = static_cast<int>(prefix);
}

} // namespace

std::size_t room_for_rdma(std::size_t nodes) {
    constexpr std::size_t rest_of_record = 1024;
    constexpr std::size_t least = 128; // without any port
    const auto share = max_line / std::max<std::size_t>(nodes, 1);
    return std::clamp(share, rest_of_record + least, rest_of_record + longest_rdma_record) - rest_of_record;
}

void shorten(RdmaRecord& record, std::size_t room) {
    if (dump(json(record)).size() <= room) {
        return;
    }
    const auto all = std::exchange(record.ports, {});
    const auto weight = [&](const RdmaPort& port) {
        const auto is_whole = [&](const RdmaPort& other) { return stands_for(other, port); };
        return std::ranges::any_of(all, is_whole) ? 2 : port.state == "ACTIVE" ? 0 : 1;
    };
    auto size = dump(json(record)).size() + 64; // what stands around the ports
    for (const int of : {0, 1, 2}) {
        for (const auto& port : all) {
            if (weight(port) != of) {
                continue;
            }
            size += dump(json(port)).size() + 1;
            if (size > room) {
                record.cut = record.cut || of == 0;
                return;
            }
            record.ports.push_back(port);
        }
    }
}

bool is_link_local(const RdmaGid& gid) {
    return gid.address.starts_with("169.254.");
}

bool has_address(const RdmaPort& port) {
    return !std::ranges::all_of(port.gids, is_link_local);
}

bool stands_for(const RdmaPort& whole, const RdmaPort& part) {
    return !part.part_of.empty() && whole.pci == part.part_of && whole.state == "ACTIVE" &&
           (has_address(whole) || !has_address(part));
}

bool is_rdma_use(std::string_view text) {
    return text == "auto" || text == "required" || text == "off";
}

bool is_rdma_device(std::string_view name) {
    return !name.empty() && name.size() < longest_rdma_device && name.front() != '.' && name.front() != '-' &&
           std::ranges::all_of(name, is_device_letter);
}

void to_json(json& out, const RdmaPort& port) {
    out = {{"device", port.device}, {"port", port.port}, {"state", port.state}};
    for (const auto& [key, word] : {std::pair("link", &port.link), std::pair("netdev", &port.netdev),
                                    std::pair("bond", &port.bond), std::pair("pci", &port.pci),
                                    std::pair("part_of", &port.part_of), std::pair("prefix", &port.prefix)}) {
        if (!word->empty()) {
            out[key] = *word;
        }
    }
    if (port.mbps > 0) {
        out["mbps"] = port.mbps;
    }
    if (port.outside) {
        out["outside"] = true;
    }
    for (const auto& gid : port.gids) {
        out["gids"].push_back({gid.index, gid.address, gid.prefix, gid.netdev});
    }
}

void read_fields(ObjectReader& reader, RdmaPort& port) {
    reader.require("device");
    reader.read("device", port.device);
    if (!is_rdma_device(port.device)) {
        reader.fail("an RDMA device with an invalid name");
    }
    reader.read("port", port.port, 0, most_ports_of_a_device);
    reader.read("mbps", port.mbps, 0, fastest_mbps);
    read_port_word(reader, "link", port.link);
    read_port_word(reader, "state", port.state);
    read_port_word(reader, "netdev", port.netdev);
    read_port_word(reader, "bond", port.bond);
    read_port_word(reader, "pci", port.pci);
    read_port_word(reader, "part_of", port.part_of);
    read_port_word(reader, "prefix", port.prefix);
    reader.read("outside", port.outside);
    if (const auto* gids = reader.array("gids")) {
        if (gids->size() > most_rdma_gids) {
            return reader.fail("an RDMA port with too many GIDs");
        }
        for (const auto& item : *gids) {
            read_gid(reader, item, port.gids.emplace_back());
        }
    }
}

void read_rdma_ports(ObjectReader& reader, const char* key, std::vector<RdmaPort>& ports) {
    const auto* items = reader.array(key);
    if (items != nullptr && items->size() > most_rdma_ports) {
        return reader.fail(std::string("\"") + key + "\" holds too many RDMA ports");
    }
    read_objects(reader, key, [&](ObjectReader& port) { read_fields(port, ports.emplace_back()); });
}

void to_json(json& out, const RdmaRecord& record) {
    out = {{"use", record.use}};
    if (record.inside) {
        out["inside"] = true;
    }
    if (!record.ports.empty()) {
        out["ports"] = record.ports;
    }
    if (!record.nccl.empty()) {
        out["nccl"] = record.nccl;
    }
    if (!record.yours.empty()) {
        out["yours"] = record.yours;
    }
    if (record.cut) {
        out["cut"] = true;
    }
}

void read_fields(ObjectReader& reader, RdmaRecord& record) {
    reader.read("use", record.use);
    if (!is_rdma_use(record.use)) {
        reader.fail("\"use\" of RDMA must be auto, required or off");
    }
    reader.read("inside", record.inside);
    reader.read("nccl", record.nccl);
    if (record.nccl.size() > longest_word ||
        record.nccl.find_first_not_of("0123456789.") != std::string::npos) {
        reader.fail("\"nccl\" must be a version");
    }
    reader.read_bytes("yours", record.yours);
    if (record.yours.size() > most_rdma_variables ||
        !std::ranges::all_of(record.yours, [](const auto& name) { return is_rdma_device(name); })) {
        reader.fail("\"yours\" must be names of variables");
    }
    read_rdma_ports(reader, "ports", record.ports);
    reader.read("cut", record.cut);
}

} // namespace dockdist::wire
