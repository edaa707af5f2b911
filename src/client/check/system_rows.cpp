#include "client/check/system_rows.hpp"

#include "client/check/compare.hpp"
#include "client/container/engine_words.hpp"
#include "shared/core/text.hpp"
#include "shared/core/toolkits.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace dockdist {
namespace {

using State = CheckRow::State;

constexpr std::uint64_t mib = 1U << 20U;
constexpr std::uint64_t gib = 1U << 30U;
constexpr std::uint64_t least_shm = gib;       // pains 13: 64 MiB end NCCL and data loaders
constexpr std::uint64_t low_disk = 10 * gib;   // an image of training software unpacks to that
constexpr std::uint64_t full_disk = 256 * mib; // not even the log of a job
constexpr std::int64_t few_files = 4096;       // of data loaders and one socket a peer
constexpr std::int64_t small_stack = 8 << 20;  // the usual default

void set(CheckRow& row, State state, std::string text, std::string hint) {
    row.state = state;
    row.text = std::move(text);
    row.hint = std::move(hint);
}

void unknown(CheckRow& row, const Error& error) {
    set(row, State::warn, "not known: " + printable(error.message),
        error.hint.empty() ? "look into the node: `dockdist ssh " + row.subject + "`" : error.hint);
}

std::string size_or_unlimited(std::int64_t limit) {
    return limit < 0 ? "unlimited" : format_size(Bytes{static_cast<std::uint64_t>(limit)});
}

std::optional<CheckRow> judge_governor(const CheckedNode& node) {
    const auto& governors = node.facts.system->governors;
    if (governors.empty()) {
        return std::nullopt;
    }
    auto row = host_row(node, "governor");
    const auto slow = governors.find("powersave");
    if (slow != governors.end()) {
        set(row, State::warn, fmt::format("{} CPUs use the powersave governor", slow->second),
            "on the host: `cpupower frequency-set -g performance`; data loaders and NCCL's proxies wait for "
            "slow CPUs");
    } else {
        std::vector<std::string> names;
        std::ranges::transform(governors, std::back_inserter(names),
                               [](const auto& one) { return printable(one.first); });
        row.text = list_names(names);
    }
    return row;
}

// Of one kind is well; of several, all that jobs run has to be there for each.
std::optional<CheckRow> judge_architectures(const std::vector<CheckedNode>& nodes) {
    std::map<std::string, std::vector<std::string>> having;
    for (const auto& node : nodes) {
        if (node.facts.system && !node.facts.system->machine.empty()) {
            having[printable(go_architecture(node.facts.system->machine))].push_back(node.name.str());
        }
    }
    if (having.empty()) {
        return std::nullopt;
    }
    CheckRow row{.layer = CheckLayer::host, .check = "architecture"};
    std::vector<std::string> known;
    for (const auto& [architecture, names] : having) {
        known.insert(known.end(), names.begin(), names.end());
        row.text += (row.text.empty() ? "" : "; ") +
                    (having.size() == 1 ? architecture : architecture + ": " + list_names(names));
    }
    row.subject = known.size() == nodes.size() && nodes.size() > 1 ? "all nodes" : list_names(known);
    if (having.size() > 1) {
        row.state = State::warn;
        row.hint = "a job on all of them needs its image, and all that `sync`, `data` and `setup` bring, for "
                   "each of these architectures";
    }
    return row;
}

std::optional<CheckRow> judge_xids(const CheckedNode& node) {
    if (!node.facts.system->xids) {
        return std::nullopt;
    }
    auto row = host_row(node, "xid");
    std::string list;
    for (const auto& xid : *node.facts.system->xids) {
        list += fmt::format("{}{} on {}", list.empty() ? "" : ", ", xid.code, printable(xid.gpu));
    }
    if (list.empty()) {
        row.text = "no Xid errors in the kernel's log";
    } else {
        set(row, State::warn, "Xid errors in the kernel's log: " + list,
            "look them up in NVIDIA's Xid catalogue; 48, 63, 64, 74, 79, 94 and 95 mean faulty hardware "
            "(`dmesg -T | grep Xid` on the host tells when)");
    }
    return row;
}

} // namespace

CheckRow judge_shm(const CheckedNode& node, const ContainerSpec& container) {
    auto row = host_row(node, "shm");
    const auto& shm = node.facts.system->shm;
    if (!shm) {
        set(row, State::warn, "there is no /dev/shm",
            "NCCL and data loaders need it: take an image without a /dev of its own");
    } else if (shm->size.count < least_shm) {
        set(row, State::warn, "/dev/shm has only " + format_size(shm->size),
            container.ipc == "host" ? "with `container.ipc: host` it is the host's: there, `mount -o "
                                      "remount,size=64g /dev/shm`; or set "
                                      "`container.ipc: private` and `container.shm_size`"
                                    : "set `container.shm_size` (64g is the default), then `dockdist up`");
    } else if (shm->free.count < least_shm / 4) {
        set(row, State::warn,
            fmt::format("/dev/shm is full: {} free of {}", format_size(shm->free), format_size(shm->size)),
            "what ended jobs left there can be removed: `dockdist exec " + row.subject +
                " -- ls -l /dev/shm`");
    } else {
        row.text = "/dev/shm has " + format_size(shm->size);
    }
    return row;
}

CheckRow judge_limits(const CheckedNode& node, const ContainerSpec& container) {
    auto row = host_row(node, "limits");
    row.layer = CheckLayer::container;
    if (!node.facts.limits) {
        unknown(row, node.facts.limits.error());
        return row;
    }
    const auto& limits = *node.facts.limits;
    row.text = fmt::format(
        "in an ssh session: memlock {}, nofile {}, stack {}", size_or_unlimited(limits.memlock),
        limits.nofile < 0 ? "unlimited" : std::to_string(limits.nofile), size_or_unlimited(limits.stack));
    const auto add = [&row](State state, const std::string& hint) {
        row.state = std::max(row.state, state);
        row.hint += (row.hint.empty() ? "" : "; ") + hint;
    };
    if (limits.memlock >= 0) {
        const bool rdma = node.facts.system && node.facts.system->rdma_inside &&
                          std::ranges::find(node.facts.system->rdma, "ACTIVE", &wire::RdmaPort::state) !=
                              node.facts.system->rdma.end();
        const auto asked = container.ulimits.find("memlock");
        const bool asked_for_less = asked != container.ulimits.end() && asked->second.soft >= 0;
        const bool automatic = asked == container.ulimits.end() || asked->second.automatic;
        const auto raise = asked_for_less ? "set `container.ulimits: {memlock: unlimited}`"
                                          : "let the host's engine have more (`LimitMEMLOCK=infinity` in "
                                            "docker.service, or podman.service)";
        row.text += automatic ? "; its engine does not allow more memlock" : "";
        if (rdma || !automatic) {
            add(rdma ? State::fail : State::warn, fmt::format("{}: {}, then `dockdist up`",
                                                              rdma ? "RDMA fails to register memory with that"
                                                                   : "RDMA would fail to register memory",
                                                              raise));
        }
    }
    if (limits.nofile >= 0 && limits.nofile < few_files) {
        add(State::warn, "data loaders run out of open files: set `container.ulimits: {nofile: 1048576}`");
    }
    if (limits.stack >= 0 && limits.stack < small_stack) {
        add(State::warn, "set `container.ulimits: {stack: 64m}`");
    }
    return row;
}

std::vector<CheckRow> judge_system(const std::vector<CheckedNode>& nodes, const ContainerSpec& container) {
    std::vector<CheckRow> rows;
    const auto each = [&](auto judge) {
        for (const auto& node : nodes) {
            if (std::optional<CheckRow> row = node.facts.system ? judge(node) : std::nullopt) {
                rows.push_back(std::move(*row));
            }
        }
    };
    for (const auto& node : nodes) {
        if (!node.facts.system) {
            auto row = host_row(node, "system");
            unknown(row, node.facts.system.error());
            rows.push_back(std::move(row));
        }
    }
    if (auto row = judge_architectures(nodes)) {
        rows.push_back(std::move(*row));
    }
    each(judge_xids);
    each(judge_governor);
    each([&](const CheckedNode& node) { return std::optional(judge_shm(node, container)); });
    for (const auto& node : nodes) {
        rows.push_back(judge_limits(node, container));
    }
    return rows;
}

std::vector<CheckRow> judge_disks(const std::vector<CheckedNode>& nodes,
                                  const std::vector<EngineRoot>& roots) {
    std::vector<CheckRow> rows;
    std::vector<std::string> enough;
    std::string tightest;
    auto least = ~std::uint64_t{0};
    for (const auto& [host, root, podman] : roots) {
        const auto node = std::ranges::find(nodes, host, &CheckedNode::host);
        if (node == nodes.end() || !node->facts.system || !node->facts.system->disk) {
            continue;
        }
        const auto free = node->facts.system->disk->free;
        if (free.count >= low_disk) {
            enough.push_back(host.str());
            if (free.count < least) {
                least = free.count;
                tightest = host.str();
            }
            continue;
        }
        const auto folder = root.empty() ? std::string("the engine's folder") : printable(root);
        rows.push_back({.state = free.count < full_disk ? State::fail : State::warn,
                        .subject = host.str(),
                        .check = "disk",
                        .text = fmt::format("{} free in {}", format_size(free), folder),
                        .hint = fmt::format(
                            "free space on the host, where images and containers are kept: `{0} system df` "
                            "shows, and `{0} image prune` removes what nothing uses",
                            words_of(podman).program)});
    }
    if (!enough.empty()) {
        rows.push_back(
            {.subject = enough.size() == roots.size() && roots.size() > 1 ? "all hosts" : list_names(enough),
             .check = "disk",
             .text = enough.size() == 1
                         ? format_size(Bytes{least}) + " free"
                         : fmt::format("{} free at least ({})", format_size(Bytes{least}), tightest)});
    }
    return rows;
}

} // namespace dockdist
