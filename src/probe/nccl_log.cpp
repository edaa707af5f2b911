#include "probe/nccl_log.hpp"

#include <algorithm>

namespace dockdist::probe {
namespace {

constexpr std::size_t most_warnings = 10;

// What follows `mark` in the line; data() is null where the mark is not in it.
std::string_view after(std::string_view line, std::string_view mark) {
    const auto at = line.find(mark);
    return at == std::string_view::npos ? std::string_view{} : line.substr(at + mark.size());
}

void add_once(std::vector<std::string>& list, std::string_view word) {
    if (!word.empty() && std::ranges::find(list, word) == list.end()) {
        list.emplace_back(word);
    }
}

// "[0]eth0:10.0.0.1<0> [1]eth1:…<0>", "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB …": the words behind
// "[number]".
std::vector<std::string_view> numbered(std::string_view list) {
    std::vector<std::string_view> words;
    list = list.substr(0, list.find(';'));
    while (!list.empty()) {
        const auto open = list.find('[');
        const auto close = open == std::string_view::npos ? open : list.find(']', open);
        if (close == std::string_view::npos) {
            break;
        }
        const auto number = list.substr(open + 1, close - open - 1);
        const auto end = std::min(list.find(' ', close), list.size());
        if (!number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos) {
            words.push_back(list.substr(close + 1, end - close - 1));
        }
        list.remove_prefix(end);
    }
    return words;
}

std::string_view take_part(std::string_view& path) {
    const auto part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    return part;
}

// "NET/IB/0/GDRDMA", "NET/IB/1(4)/GDRDMA/Shared" (by way of rank 4's NIC), "P2P/IPC/read",
// "SHM/direct/direct".
Transport transport(std::string_view path) {
    Transport found;
    found.kind = take_part(path);
    if (found.kind == "NET" || found.kind == "COLLNET") {
        found.kind += '/';
        found.kind += take_part(path);
        const auto device = take_part(path);
        found.detail = path;
        if (device.find('(') != std::string_view::npos) {
            found.detail += found.detail.empty() ? "PXN" : "/PXN";
        }
    } else {
        found.detail = path;
    }
    return found;
}

void count(std::vector<Transport>& transports, Transport found) {
    if (found.kind.empty()) {
        return;
    }
    for (auto& known : transports) {
        if (known.kind == found.kind && known.detail == found.detail) {
            ++known.connections;
            return;
        }
    }
    found.connections = 1;
    transports.push_back(std::move(found));
}

void read_line(std::string_view line, NcclLog& log) {
    if (const auto version = after(line, "NCCL version "); !version.empty()) {
        log.version = version.substr(0, version.find(' '));
    } else if (const auto warning = after(line, "NCCL WARN "); !warning.empty()) {
        if (log.warnings.size() < most_warnings) {
            log.warnings.emplace_back(warning);
        }
    } else if (const auto network = after(line, "NCCL INFO Using network "); !network.empty()) {
        log.network = network;
    } else if (after(line, "NET/IB : No device found").data() != nullptr) {
        log.no_rdma_device = true;
    } else if (const auto devices = after(line, "NET/IB : Using"); !devices.empty()) {
        for (const auto word : numbered(devices)) {
            add_once(log.rdma_devices, word);
        }
    } else if (const auto interfaces = after(line, "NET/Socket : Using"); !interfaces.empty()) {
        for (const auto word : numbered(interfaces)) {
            add_once(log.interfaces, word.substr(0, word.find(':')));
        }
    } else if (const auto path = after(line, " via ");
               !path.empty() && line.find(" -> ") != std::string_view::npos) {
        count(log.transports, transport(path));
    } else if (const auto collnet = after(line, " via COLLNET/"); !collnet.empty()) {
        count(log.transports, transport(line.substr(line.find("COLLNET/"))));
    }
}

} // namespace

NcclLog parse_nccl_log(std::string_view text) {
    NcclLog log;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
            line.remove_suffix(1);
        }
        read_line(line, log);
    }
    return log;
}

} // namespace dockdist::probe
