#include "client/cluster/left_out.hpp"

#include "client/plan/plan.hpp"
#include "shared/core/with_hint.hpp"

#include <algorithm>

namespace dockdist {

LeftOut::LeftOut(const ClusterSpec& spec, bool keep_going)
    : spec_(spec), keep_going_(keep_going), hosts_(spec.hosts.size()) {
    for (std::size_t i = 0; i < spec.hosts.size(); ++i) {
        labels_.try_emplace(host_label(spec.hosts[i]), i);
    }
}

std::optional<std::size_t> LeftOut::host_of(const Error& error) const {
    const auto on = error.where.find(" on "); // "node-0 on node-0 (tcp://…)"
    const auto host = labels_.find(on == std::string::npos ? error.where : error.where.substr(on + 4));
    return host == labels_.end() ? std::nullopt : std::optional(host->second);
}

bool LeftOut::take(const Errors& errors) {
    if (!keep_going_ && spec_.min_nodes == 0) {
        return false;
    }
    auto hosts = hosts_;
    for (const auto& error : errors) {
        const auto host = host_of(error);
        if (!host || error.kind == ErrorKind::locked || error.kind == ErrorKind::usage) {
            return false;
        }
        hosts[*host] = true;
    }
    std::size_t nodes = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        nodes += hosts[i] ? 0U : static_cast<std::size_t>(spec_.hosts[i].nodes);
    }
    if (hosts == hosts_ || !enough_nodes(spec_, nodes, keep_going_)) {
        return false;
    }
    hosts_ = std::move(hosts);
    errors_.insert(errors_.end(), errors.begin(), errors.end());
    return true;
}

Errors LeftOut::with_way_on(Errors errors) const {
    return !keep_going_ && LeftOut(spec_, true).take(errors)
               ? with_hint(std::move(errors), "or go on without it: `dockdist up --keep-going`")
               : std::move(errors);
}

std::vector<bool> LeftOut::others() const {
    auto hosts = hosts_;
    hosts.flip();
    return hosts;
}

std::size_t LeftOut::first_other() const {
    return static_cast<std::size_t>(std::ranges::find(hosts_, false) - hosts_.begin());
}

} // namespace dockdist
