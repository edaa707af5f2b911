#include "client/check/fabric_row.hpp"

#include "client/plan/node_config.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/fabric.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <string_view>

namespace dockdist {
namespace {

constexpr const char* question_fabric = "gpu-fabric";
constexpr const char* question_channels = "imex-channels";

bool has_channel(const CheckedNode& node) {
    const auto answer = output_of(node, question_channels);
    return answer && answer->code == 0 && answer->output.find("channel0") != std::string::npos;
}

} // namespace

std::vector<wire::Question> fabric_questions() {
    const std::string_view channel = imex_channel;
    const std::string folder(channel.substr(0, channel.rfind('/') + 1));
    return {{.name = question_fabric, .argv = smi_argv(SmiQuestion::log)},
            // dockdist's own: an image may have no `ls`.
            {.name = question_channels,
             .argv = {std::string(layout::toolkit) + "/libexec/rsync", "--list-only", folder}}};
}

std::optional<CheckRow> judge_fabric(const CheckedNode& node) {
    const auto answer = output_of(node, question_fabric);
    const auto fabric =
        answer && may_have_answered(answer->code) ? parse_fabric(answer->output) : std::nullopt;
    if (!fabric) {
        return std::nullopt;
    }
    CheckRow row{.layer = CheckLayer::host, .subject = node.name.str(), .check = "fabric"};
    const bool failed = !fabric->status.empty() && fabric->status != "Success";
    if (fabric->state != "Completed" || failed) {
        row.state = CheckRow::State::fail;
        row.text = fmt::format("the GPUs' NVLink fabric is not ready: {}",
                               printable(failed ? fabric->status : fabric->state));
        row.hint =
            "until it is, CUDA programs fail with error 802: on the host, `systemctl status "
            "nvidia-fabricmanager` (of the driver's own version), and nvidia-imex where NVLink leads to "
            "other hosts";
        return row;
    }
    if (fabric->cluster.empty()) {
        row.text = "NVLink within the host is ready";
        return row;
    }
    const auto where =
        fmt::format("clique {} of {}", fabric->clique.empty() ? "?" : printable(fabric->clique),
                    printable(fabric->cluster));
    if (has_channel(node)) {
        row.text = fmt::format("NVLink to other hosts ({}), with its IMEX channel", where);
        return row;
    }
    row.state = CheckRow::State::warn;
    row.text =
        fmt::format("NVLink leads to other hosts ({}), and the node has no {}: NCCL goes there over the "
                    "network",
                    where, imex_channel);
    row.hint = "on the host nvidia-imex must run, and the driver make the channel (`options nvidia "
               "NVreg_CreateImexChannel0=1` in /etc/modprobe.d); then recreate the node with `dockdist down` "
               "and `dockdist up`. Hosts with x86 CPUs, and a file with `container.devices`, get it only "
               "where it is named there (beside /dev/infiniband, if the hosts have that)";
    return row;
}

} // namespace dockdist
