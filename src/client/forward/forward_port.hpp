// What a person asks `forward` for: a port here, and what it leads to. Pure.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/tunnel.hpp"

#include <string>
#include <string_view>

namespace dockdist {

struct ForwardPort {
    int local = 0; // 0: any that is free
    wire::TunnelTarget target{};
    bool operator==(const ForwardPort&) const = default;
};

// "8888" (the same port here and there), "8080:8888", "8080:db.internal:5432", "8080:[fd00::1]:5432"; 0
// before the first colon: a free port. Errors (usage): where = `option`.
Result<ForwardPort> parse_forward_port(std::string_view text, const std::string& option);

// As parse_forward_port() reads it.
std::string forward_port_text(const ForwardPort& port);

// "node-0 port 8888", "db.internal port 5432 as node-0 sees it".
std::string target_text(const wire::TunnelTarget& target, const std::string& node);

// Why a connection was not made, with what may help, as a sentence's beginning.
std::string failure_text(const wire::TunnelFailure& failure, const wire::TunnelTarget& target,
                         const std::string& node);

} // namespace dockdist
