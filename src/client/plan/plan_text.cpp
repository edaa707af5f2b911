#include "client/plan/node_config.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

std::string gpus_text(const ContainerConfig& config) {
    if (config.device_requests.empty()) {
        return std::ranges::find(config.devices, amd_device) == config.devices.end() ? "no GPU"
                                                                                     : "all GPUs, AMD's";
    }
    const auto& request = config.device_requests.front();
    if (request.count < 0) {
        return "all GPUs";
    }
    if (request.count > 0) {
        return counted(request.count, "GPU");
    }
    std::string list;
    for (const auto& id : request.device_ids) {
        list += (list.empty() ? "GPU " : ",") + id;
    }
    return list;
}

std::string with_loss(const std::string& cause, const LostFiles& lost) {
    return lost.any() ? cause + "; " + to_text(lost) : cause;
}

} // namespace

std::string to_text(const Plan& plan, const ClusterSpec& spec) {
    std::string text;
    std::size_t width = 0;
    for (const auto& host : spec.hosts) {
        width = std::max(width, host.name.str().size());
    }
    const auto line = [&](std::size_t host, const std::string& what, const std::string& cause) {
        text += fmt::format("{:<{}}  {}{}\n", spec.hosts[host].name.str(), width, printable(what),
                            cause.empty() ? "" : "  # " + printable(cause));
    };
    if (plan.build) {
        text += fmt::format("{:<{}}  build image {} of {}  # {}\n", printable(spec.image.from), width,
                            printable(plan.build->image.str()), printable(spec.image.build->context),
                            printable(plan.build->cause));
    }
    for (const auto& pull : plan.pulls) {
        line(pull.host, "pull image " + pull.image.str(), pull.cause);
    }
    for (const auto& send : plan.sends) {
        line(send.host, "send image " + send.image.str() + " from " + spec.image.from, send.cause);
    }
    for (const auto& upload : plan.uploads) {
        line(upload.host, "upload toolkit", "the host lacks this version");
    }
    for (const auto& stop : plan.stops) {
        line(stop.job.parts.front().host, "stop job " + stop.job.job.str() + " (only with --stop-jobs)",
             stop.cause);
    }
    for (const auto& removal : plan.removals) {
        line(removal.host, "remove container " + removal.name, with_loss(removal.cause, removal.lost));
    }
    for (const auto& rename : plan.renames) {
        line(rename.host, fmt::format("rename container {} to {}", rename.from, rename.to), rename.cause);
    }
    for (const auto& create : plan.creates) {
        line(create.host,
             fmt::format("{} container {} ({}, {})", create.replaces ? "replace" : "create",
                         create.container_name, create.config.image.str(),
                         create.gpus.empty() ? gpus_text(create.config) : create.gpus),
             with_loss(create.cause, create.lost));
    }
    for (const auto& start : plan.starts) {
        line(start.host, "start node " + start.node.str(), start.cause);
    }
    for (const auto& join : plan.joins) {
        line(join.host,
             fmt::format("join node {} (rank {} of {})", join.node.name.str(), join.node.rank,
                         plan.joins.size()),
             join.cause);
    }
    for (const auto& orphan : plan.orphans) {
        text +=
            fmt::format("{:<{}}  leave container {} at {}  # its host is no longer in the file; remove it "
                        "there (`docker rm -f`), or by `dockdist --hosts ADDRESS down`\n",
                        orphan.node, width, orphan.container, orphan.address);
    }
    return text.empty() ? "nothing to do\n" : text;
}

} // namespace dockdist
