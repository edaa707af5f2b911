#include "client/cluster/joined_record.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/subnet.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

namespace dockdist {
namespace {

Error claims(std::string_view what, const std::string& said, const std::string& wanted) {
    return {ErrorKind::protocol, "",
            fmt::format("the node says that its {} is `{}`, not {}", what, printable(said), wanted),
            "something other than dockdist-init answers in its container: inspect it, then "
            "`dockdist down` and `dockdist up`"};
}

// "gpu1" and "gpu1.example.org" are one machine.
bool same_machine(const std::string& one, const std::string& other) {
    return one == other || one.starts_with(other + ".") || other.starts_with(one + ".");
}

} // namespace

Status check_record(const wire::NodeRecord& record, const wire::JoinRequest& request,
                    const std::string& machine) {
    if (record.node != request.node) {
        return claims("name", record.node, "`" + request.node + "`");
    }
    if (record.rank != request.rank) {
        return claims("rank", std::to_string(record.rank), std::to_string(request.rank));
    }
    boost::system::error_code none;
    boost::system::error_code named;
    const auto address = boost::asio::ip::make_address(record.address, none);
    const auto wanted = boost::asio::ip::make_address(request.address, named);
    if (none || address.is_unspecified() || address.is_multicast()) {
        return claims("address", record.address, "one of a machine");
    }
    const bool binds = !request.derived || request.interface.empty();
    if (!named && address != wanted && binds) {
        return claims("address", record.address, request.address);
    }
    if (request.address.empty() && !request.subnets.empty() && !any_holds(request.subnets, record.address)) {
        return claims("address", record.address,
                      fmt::format("one in {}", fmt::join(request.subnets, " or ")));
    }
    if (record.ssh_port < 1 || record.ssh_port > 65535 ||
        (request.ssh_port != 0 && record.ssh_port != request.ssh_port)) {
        return claims("ssh port", std::to_string(record.ssh_port),
                      request.ssh_port != 0 ? std::to_string(request.ssh_port) : "one from 1 to 65535");
    }
    if (!record.hostname.empty() && record.hostname != request.node &&
        (machine.empty() || !same_machine(record.hostname, machine))) {
        return claims("host name", record.hostname,
                      fmt::format("`{}`, as its engine says", printable(machine)));
    }
    return ok;
}

Status check_distinct(const std::vector<wire::NodeRecord>& records) {
    std::map<std::pair<std::string, int>, std::string> seen;
    std::map<std::string, const wire::NodeRecord*> hosts;
    for (const auto& record : records) {
        const auto& other = *hosts.try_emplace(record.address, &record).first->second;
        if (!other.host.empty() && !record.host.empty() && other.host != record.host) {
            return Error{ErrorKind::config, record.node,
                         fmt::format("it is at {}, and so is {} on another machine: no node reaches the "
                                     "other there",
                                     record.address, other.node),
                         "an address that two machines have is behind each one's own NAT: that of a virtual "
                         "machine (Docker Desktop, WSL), of rootless Docker's network (10.0.2.100) or of "
                         "loopback; set each host's `address` to one that the others reach, and where it has "
                         "none, use its system-wide Docker or rootless Podman"};
        }
        const auto [first, fresh] = seen.try_emplace({record.address, record.ssh_port}, record.node);
        if (!fresh) {
            return Error{ErrorKind::protocol, record.node,
                         fmt::format("it says that it is at {} port {}, where {} is", record.address,
                                     record.ssh_port, first->second),
                         "give each host its own `address` in the file, or leave `ssh.port` out"};
        }
    }
    return ok;
}

Status check_one_family(const std::vector<wire::NodeRecord>& records) {
    std::vector<std::string> ipv4;
    std::vector<std::string> ipv6;
    for (const auto& record : records) {
        (read_ipv6(record.address) ? ipv6 : ipv4).push_back(record.node);
    }
    if (ipv4.empty() || ipv6.empty()) {
        return ok;
    }
    constexpr std::size_t most_named = 8;
    return Error{
        ErrorKind::config, ipv6.size() < ipv4.size() ? ipv6.front() : ipv4.front(),
        fmt::format(
            "{} {} at IPv4 addresses, and {} at IPv6 addresses: launchers and NCCL need one family for all",
            first_names(ipv4, most_named), ipv4.size() == 1 ? "is" : "are", first_names(ipv6, most_named)),
        "give all hosts addresses of one family: `network: {subnet: …}` for all of them, or each host's "
        "`address`"};
}

} // namespace dockdist
