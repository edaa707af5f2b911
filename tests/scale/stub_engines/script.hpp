// What goes wrong, and when. As JSON, given at the start (--script) or at any time by POST /_stub/script:
//
//   {"round_trip_ms": 20, "bandwidth": 12500000, "near": [8],
//    "rules": [{"do": "hang", "hosts": [3]},
//              {"do": "refuse", "hosts": [4, 5]},
//              {"do": "vanish", "hosts": [6], "call": "POST /containers/X/start"},
//              {"do": "fail", "call": "POST /containers/create", "status": 500, "message": "no space left on
//              device", "times": 1},
//              {"do": "delay", "hosts": [7], "ms": 3000}]}
//
// A rule without `hosts` is of all, without `call` of every call, without `times` for good. The hosts in
// `near` are as this machine's own engine: no delay, all bandwidth.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::scale {

struct Rule {
    enum class Do {
        delay,  // it takes `pause` longer: a straggler
        hang,   // the call has no answer, ever
        refuse, // connections are refused
        drop,   // the connection breaks at the call
        vanish, // from the call on nothing of the host answers, nor do its nodes reach anybody
        fail,   // the answer is an error
    };
    Do what = Do::delay;
    std::set<int> hosts{};
    std::string call{};
    int times = -1;
    std::chrono::milliseconds pause{0};
    int status = 500;
    std::string message{};

    bool is_of(int host) const { return hosts.empty() || hosts.contains(host); }
};

struct Script {
    std::chrono::microseconds round_trip{0};
    std::uint64_t bandwidth = 0;
    std::set<int> near{};
    std::vector<Rule> rules{};

    // The rules that this call of this host meets, `times` counted.
    std::vector<Rule> met(int host, std::string_view call);
    bool refuses(int host) const;
};

// Throws std::exception with what is wrong.
Script parse_script(const nlohmann::json& text);

} // namespace dockdist::scale
