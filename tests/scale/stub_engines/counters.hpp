// What has come and gone, for all hosts together and for each.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dockdist::scale {

struct HostCount {
    int open = 0, most_open = 0, connections = 0;
    std::uint64_t bytes_in = 0, bytes_out = 0; // as the client sends and gets them, HTTP's own included
    std::uint64_t pulled = 0;                  // bytes of blobs whose digest was verified
    std::uint64_t imported = 0;                // bytes of images that came from another host
};

struct Counters {
    explicit Counters(std::size_t count) : hosts(count) {}

    int open = 0, most_open = 0;
    std::map<std::string, int> calls{};
    std::vector<HostCount> hosts;

    void connected(HostCount& host) {
        ++host.connections;
        most_open = std::max(most_open, ++open);
        host.most_open = std::max(host.most_open, ++host.open);
    }
    void disconnected(HostCount& host) {
        --open;
        --host.open;
    }
    // What is open stays so.
    void reset() {
        most_open = open;
        calls.clear();
        for (auto& host : hosts) {
            host = {.open = host.open, .most_open = host.open};
        }
    }
    nlohmann::json to_json() const {
        nlohmann::json result{
            {"open", open}, {"most_open", most_open}, {"calls", calls}, {"hosts", nlohmann::json::array()}};
        HostCount sum;
        for (const auto& host : hosts) {
            result["hosts"].push_back({{"connections", host.connections},
                                       {"most_open", host.most_open},
                                       {"bytes_in", host.bytes_in},
                                       {"bytes_out", host.bytes_out},
                                       {"pulled", host.pulled},
                                       {"imported", host.imported}});
            sum.connections += host.connections;
            sum.most_open = std::max(sum.most_open, host.most_open);
            sum.bytes_in += host.bytes_in;
            sum.bytes_out += host.bytes_out;
            sum.pulled += host.pulled;
            sum.imported += host.imported;
        }
        result["connections"] = sum.connections;
        result["most_open_of_a_host"] = sum.most_open;
        result["bytes_in"] = sum.bytes_in;
        result["bytes_out"] = sum.bytes_out;
        result["pulled"] = sum.pulled;
        result["imported"] = sum.imported;
        return result;
    }
};

} // namespace dockdist::scale
