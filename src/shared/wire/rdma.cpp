#include "shared/wire/rdma.hpp"

#include "shared/core/ip_address.hpp"
#include "shared/wire/fields.hpp"

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

bool is_port_word(std::string_view word) {
    return word.size() <= longest_word &&
           std::ranges::all_of(word, [](char c) { return c >= ' ' && c < '\x7F'; });
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

json gid_arrays(const std::vector<RdmaGid>& gids) {
    auto arrays = json::array();
    for (const auto& gid : gids) {
        arrays.push_back({gid.index, gid.address, gid.prefix, gid.netdev});
    }
    return arrays;
}

void read_gids(ObjectReader& reader, const char* key, std::vector<RdmaGid>& gids) {
    const auto* const items = reader.array(key);
    if (items == nullptr) {
        return;
    }
    if (items->size() > most_rdma_gids) {
        return reader.fail("an RDMA port with too many GIDs");
    }
    for (const auto& item : *items) {
        read_gid(reader, item, gids.emplace_back());
    }
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

void port_word(auto& fields, const char* key, auto& word) {
    fields.omit_empty(key, word);
    fields.check(is_port_word(word), "a word of an RDMA port must be short and plain");
}

void fields_of(auto& fields, Of<RdmaPort> auto& port) {
    fields.required("device", port.device);
    fields.check(is_rdma_device(port.device), "an RDMA device with an invalid name");
    fields("port", port.port, 0, most_ports_of_a_device);
    fields.omit_empty("mbps", port.mbps, 0, fastest_mbps);
    fields("state", port.state);
    fields.check(is_port_word(port.state), "the \"state\" of an RDMA port must be a short plain word");
    port_word(fields, "link", port.link);
    port_word(fields, "netdev", port.netdev);
    port_word(fields, "bond", port.bond);
    port_word(fields, "pci", port.pci);
    port_word(fields, "part_of", port.part_of);
    port_word(fields, "prefix", port.prefix);
    fields.omit_empty("outside", port.outside);
    fields.omit_empty("gids", by(port.gids, gid_arrays, read_gids));
}
DEFINE_BY_FIELDS(RdmaPort)

void read_rdma_ports(ObjectReader& reader, const char* key, std::vector<RdmaPort>& ports) {
    read_field(reader, key, ports, most_rdma_ports);
}

void fields_of(auto& fields, Of<RdmaRecord> auto& record) {
    fields("use", record.use);
    fields.check(is_rdma_use(record.use), "\"use\" of RDMA must be auto, required or off");
    fields.omit_empty("inside", record.inside);
    fields.omit_empty("ports", record.ports, most_rdma_ports);
    fields.omit_empty("nccl", record.nccl, longest_word);
    fields.check(record.nccl.find_first_not_of("0123456789.") == std::string::npos,
                 "\"nccl\" must be a version");
    fields.omit_empty("yours", record.yours);
    fields.check(record.yours.size() <= most_rdma_variables &&
                     std::ranges::all_of(record.yours, is_rdma_device),
                 "\"yours\" must be names of variables");
    fields.omit_empty("cut", record.cut);
}
DEFINE_BY_FIELDS(RdmaRecord)

} // namespace dockdist::wire
