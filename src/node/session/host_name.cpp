#include "node/session/host_name.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/wire/json_reader.hpp"

#include <unistd.h>

namespace dockdist::node {

std::string all_addresses(const std::string& own, const std::vector<InterfaceAddress>& available) {
    std::string text = own + " ";
    for (const auto& entry : available) {
        if (!entry.loopback && entry.address != own && !entry.address.starts_with("fe80:")) {
            text += entry.address + " ";
        }
    }
    return text;
}

std::optional<int> run_hostname(const std::vector<std::string>& arguments) {
    const std::string what = arguments.size() == 1 ? arguments.front() : "";
    const bool all = what == "-I" || what == "--all-ip-addresses";
    if (!all && what != "-i" && what != "--ip-address") {
        return std::nullopt;
    }
    const auto record = wire::parse_object(read_file_or_empty(paths().node_record), "the node's record");
    std::string address;
    if (record) {
        wire::ObjectReader(*record, "the node's record").read("address", address);
    }
    if (address.empty()) {
        return std::nullopt;
    }
    const auto text = all ? all_addresses(address, interface_addresses()) : address;
    return write_all(STDOUT_FILENO, text + "\n") ? 0 : 1;
}

} // namespace dockdist::node
