#include "client/observe/gpu_helper.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/confine.hpp"
#include "client/observe/helper_parts.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace dockdist {
namespace {

constexpr std::chrono::seconds helper_limit{30}; // nvidia-smi hangs where a GPU has fallen off its bus
constexpr std::size_t longest_told = 4U << 20U;
constexpr std::size_t shown_of_stderr = 500;
constexpr const char* try_smi = "does nvidia-smi work on that host?";

// Everything that the container writes to stdout until it ends; `err` takes the rest.
Task<Result<std::string>> said_by(ContainerEngine& engine, ContainerId id, std::string& err) {
    auto log = co_await engine.container_logs(id, {.follow = true});
    CO_TRY(log);
    std::string out;
    while (true) {
        auto chunk = co_await (*log)->read();
        CO_TRY(chunk);
        if (chunk->end) {
            co_return out;
        }
        auto& text = chunk->stream == StdStream::err ? err : out;
        text.append(chunk->bytes, 0, longest_told - std::min(longest_told, text.size()));
    }
}

HelperGpus gpus_asked_of(const ClusterSpec& spec, std::size_t host, const ObservedHost& seen) {
    auto gpus = HelperGpus::none;
    for (const auto& node : expand_nodes(spec)) {
        if (node.host == host && asks_for_amd(node.gpus)) {
            return HelperGpus::amd;
        }
        if (node.host == host && asks_for_nvidia(node.gpus)) {
            gpus = uses_cdi(spec.hosts[host], seen.engine) ? HelperGpus::by_cdi : HelperGpus::by_hook;
        }
    }
    return gpus;
}

class HostHelper {
public:
    HostHelper(const ClusterSpec& spec, ContainerEngine& engine, const HostsAsked& asked)
        : spec_(spec), engine_(engine), asked_(asked) {}

    Task<Result<wire::GpuReport>> run(const ObservedHost& seen, std::size_t host) {
        const auto parts = parts_on(spec_, asked_.toolkits, seen);
        if (!parts) {
            co_return Error{ErrorKind::not_found, host_label(spec_.hosts[host]),
                            "there is no dockdist node on this host, nor what is needed to look at its GPUs",
                            "`dockdist up` brings the image and the toolkit"};
        }
        const auto board = co_await engine_.inspect_volume(labels::gpu_volume);
        if (!board && board.error().kind != ErrorKind::not_found) {
            co_return board.error();
        }
        const auto gpus = asked_.board_alone ? HelperGpus::none : gpus_asked_of(spec_, host, seen);
        auto report = co_await told_with(*parts, gpus, board.has_value(), seen.engine);
        if (!report && gpus != HelperGpus::none) {
            const auto why = report.error();
            report = co_await told_with(*parts, HelperGpus::none, board.has_value(), seen.engine);
            if (report) {
                report->problem =
                    "its GPUs are not known: " + why.message + (why.hint.empty() ? "" : "; " + why.hint);
            }
        } else if (report && gpus == HelperGpus::none) {
            report->problem.clear(); // of nvidia-smi, which it was not given
        }
        co_return report;
    }

private:
    Task<Result<wire::GpuReport>> told_with(const HelperParts& parts, HelperGpus gpus, bool board,
                                            const EngineInfo& info) {
        auto config = gpu_look_config(parts.image, parts.toolkit, gpus, gpu_in_use_mib(spec_));
        fit(config, info);
        if (board) {
            show_board(config);
        }
        config.labels = labels::common(spec_.name.str(), "look", asked_.attempt, asked_.origin);
        constexpr std::size_t bytes_of_a_name = 8;
        const auto name = std::string(gpu_look) + "_" + random_hex(bytes_of_a_name);
        // By its name: a client that is stopped may not have heard the id.
        co_return co_await with_cleanup(made_and_heard(name, std::move(config)), [&]() -> Task<void> {
            co_await engine_.remove_container(ContainerId(name));
        });
    }

    Task<Result<wire::GpuReport>> made_and_heard(std::string name, ContainerConfig config) {
        auto id = co_await engine_.create_container(name, config);
        CO_TRY(id);
        co_return co_await start_and_hear(engine_, *id);
    }

    const ClusterSpec& spec_;
    ContainerEngine& engine_;
    const HostsAsked& asked_;
};

Task<Result<wire::GpuReport>> ask_host(const ClusterSpec& spec, ContainerEngine& engine,
                                       const HostsAsked& asked, const ObservedHost& seen, std::size_t host) {
    HostHelper helper(spec, engine, asked);
    auto report = co_await helper.run(seen, host);
    if (!report) {
        auto error = report.error();
        error.where = host_label(spec.hosts[host]);
        co_return error;
    }
    co_return report;
}

} // namespace

Task<Result<wire::GpuReport>> start_and_hear(ContainerEngine& engine, ContainerId helper) {
    CO_TRY(co_await engine.start_container(helper));
    std::string err;
    const auto said = co_await with_timeout(
        said_by(engine, helper, err), helper_limit,
        Error{ErrorKind::timeout, "",
              "the host did not report its GPUs within " + format_duration(helper_limit), try_smi});
    CO_TRY(said);
    auto report = wire::parse_gpu_report(said->substr(0, said->find('\n')));
    if (!report) {
        co_return Error{ErrorKind::node, "",
                        "the host's GPUs are not known: " + (err.empty()
                                                                 ? report.error().message
                                                                 : printable(err.substr(0, shown_of_stderr))),
                        try_smi};
    }
    co_return report;
}

Task<std::vector<Result<wire::GpuReport>>> ask_hosts(const ClusterSpec& spec, const Engines& engines,
                                                     const ObservedCluster& seen,
                                                     const std::vector<std::size_t>& hosts,
                                                     HostsAsked asked) {
    std::vector<Task<Result<wire::GpuReport>>> tasks;
    for (const auto host : hosts) {
        tasks.push_back(ask_host(spec, *engines[host], asked, seen.hosts[host], host));
    }
    co_return co_await run_all(std::move(tasks));
}

} // namespace dockdist
