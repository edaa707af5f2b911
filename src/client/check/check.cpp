#include "client/check/check.hpp"

#include "client/async/run_all.hpp"
#include "client/check/collective.hpp"
#include "client/check/compare.hpp"
#include "client/check/engine_row.hpp"
#include "client/check/gpu_rows.hpp"
#include "client/check/holder_rows.hpp"
#include "client/check/links.hpp"
#include "client/check/mount_rows.hpp"
#include "client/check/network_rows.hpp"
#include "client/check/node_questions.hpp"
#include "client/check/peers.hpp"
#include "client/check/rdma_rows.hpp"
#include "client/check/software.hpp"
#include "client/check/system_rows.hpp"
#include "client/container/engine_words.hpp"
#include "client/observe/ask_gpus.hpp"
#include "client/plan/engine_abilities.hpp"
#include "client/plan/made_by.hpp"
#include "client/plan/plan.hpp"
#include "client/report/step.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

namespace dockdist {
namespace {

using State = CheckRow::State;
using Rows = std::vector<CheckRow>;

void add(Rows& rows, Rows more) {
    std::ranges::move(more, std::back_inserter(rows));
}

CheckRow not_reached(const HostSpec& host, const Errors& errors) {
    CheckRow row{.state = State::fail, .subject = host.name.str(), .check = "engine"};
    const auto error = std::ranges::find(errors, host_label(host), &Error::where);
    row.text = error == errors.end() ? "not reached" : error->message;
    row.hint = error == errors.end() ? "" : error->hint;
    return row;
}

Task<Status> ask_engine(const ClusterSpec& spec, std::size_t host, ContainerEngine& engine,
                        EngineFinding& finding) {
    finding = co_await check_engine(spec, spec.hosts[host], engine);
    co_return ok;
}

constexpr const char* phase_name = "check";

// What a part of the check tells of its own phase, as this one's.
class OnePhase : public ForwardingReporter {
public:
    using ForwardingReporter::ForwardingReporter;
    void on(const Event& event) override {
        Event ours = event;
        ours.phase = phase_name;
        next().on(ours);
    }
    void finish() override {}
};

// One check's work: what was chosen, what was found, and the rows that follow.
class Check {
public:
    Check(const ClusterSpec& spec, const Engines& engines, CheckSelection selection)
        : spec_(spec), engines_(engines), selection_(std::move(selection)),
          engine_findings_(spec.hosts.size()) {}

    Task<CheckReport> run(const CheckOptions& options, Reporter& reporter) {
        const auto begin = std::chrono::steady_clock::now();
        OnePhase as_check(reporter);
        observation_ = co_await observe(spec_, engines_, {}, as_check, selection_.hosts);
        choose_nodes();
        std::vector<std::size_t> hosts;
        std::ranges::transform(ready_, std::back_inserter(hosts), &ReadyNode::host);
        std::vector<Task<Status>> tasks;
        for (std::size_t i = 0; i < spec_.hosts.size(); ++i) {
            if (observation_.reached[i]) {
                tasks.push_back(ask_engine(spec_, i, *engines_[i], engine_findings_[i]));
            }
        }
        Step engines(reporter, phase_name, "engines", "what they can do, and how fast they answer");
        co_await run_all(std::move(tasks)); // alone: a round trip is measured
        engines.finished("asked");
        mounts_ = mounts_to_compare(spec_, hosts);
        tasks.clear();
        Step nodes(reporter, phase_name, "nodes", "what each has");
        tasks.push_back(ask_facts_of_all(nodes));
        tasks.push_back(ask_holders());
        co_await run_all(std::move(tasks));
        nodes.finished("asked");
        if (options.deep) {
            co_await ask_further_logins(asked_, reporter);
        }
        auto found = report();
        Links links(sessions());
        Step network(reporter, phase_name, "network", "each meets others on a port");
        co_await links.meet(found, options.deep);
        network.finished("met");
        reporter.on({.kind = Event::Kind::phase_finished,
                     .phase = phase_name,
                     .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::steady_clock::now() - begin)});
        if (options.deep) {
            co_await links.measure(reporter, found);
            co_await check_collective(ready_, engines_, options.stage_timeout, reporter, found);
        }
        co_return found;
    }

private:
    // The selection's ready nodes, in rank order.
    void choose_nodes() {
        for (auto& node : ready_nodes(spec_, observation_.cluster).nodes) {
            if (std::ranges::find(selection_.nodes, node.name, &NodeSpec::name) != selection_.nodes.end()) {
                ready_.push_back(std::move(node));
            }
        }
        for (const auto& node : ready_) {
            const auto& there = observation_.cluster.hosts[node.host].nodes;
            asked_.push_back(
                {.node = &node,
                 .spec = &*std::ranges::find(selection_.nodes, node.name, &NodeSpec::name),
                 .image_id = std::ranges::find(there, node.name, &ObservedNode::node)->image_id});
        }
    }

    CheckReport report() {
        CheckReport report;
        Rows rows = host_rows();
        add(rows, container_rows());
        std::vector<CheckedNode> nodes;
        std::vector<NodeSpec> wanted;
        std::vector<Result<wire::GpuReport>> holders;
        std::vector<std::pair<NodeName, Result<ImageDetails>>> images;
        std::map<std::string, std::string> addresses;
        RdmaFacts rdma;
        for (std::size_t i = 0; i < asked_.size(); ++i) {
            const auto& asked = asked_[i];
            report.nodes.push_back(asked.node->name);
            images.emplace_back(asked.node->name, asked.image);
            if (asked.told) {
                nodes.push_back(*asked.told);
                wanted.push_back(*asked.spec);
                holders.push_back(gpus_[i]);
                addresses[asked.node->name.str()] = asked.node->record.address;
                rdma.records.push_back(asked.node->record);
            }
        }
        if (!nodes.empty()) {
            auto gpus = judge_gpus(nodes, wanted);
            report.gpus = std::move(gpus.gpus);
            add(rows, std::move(gpus.rows));
            add(rows, judge_holders(spec_.name.str(), node_names(), nodes, holders));
            add(rows, judge_disks(nodes, engine_roots()));
            add(rows, judge_system(nodes, spec_.container));
            rdma.nodes = nodes;
            rdma.whole = nodes.size() == node_names().size();
            add(rows, judge_rdma(rdma));
            add(rows, judge_images(images));
            add(rows, judge_versions(nodes));
            add(rows, judge_openssh(nodes));
            add(rows, judge_mounts(nodes, mounts_));
            add(rows, judge_network(nodes, addresses));
            add(rows, judge_logins(nodes));
        }
        const auto merged = merge_rows(std::move(rows), host_names(), node_names());
        for (const auto layer :
             {CheckLayer::engine, CheckLayer::host, CheckLayer::container, CheckLayer::network}) {
            std::ranges::copy_if(merged, std::back_inserter(report.rows),
                                 [&](const CheckRow& row) { return row.layer == layer; });
        }
        return report;
    }

    Task<Status> ask_facts_of_all(Step& step) {
        std::size_t answered = 0;
        co_await ask_nodes(spec_, engines_, asked_, mounts_, [&] {
            step.progress(fmt::format("{} of {} have answered", ++answered, asked_.size()), {}, {});
        });
        co_return ok;
    }

    Task<Status> ask_holders() {
        gpus_ = co_await ask_gpus(engines_, ready_, gpu_in_use_mib(spec_));
        co_return ok;
    }

    // In the order of the report's nodes; null for a node that does not answer.
    std::vector<NodeSession*> sessions() const {
        std::vector<NodeSession*> sessions;
        std::ranges::transform(asked_, std::back_inserter(sessions), [](const AskedNode& asked) {
            return asked.told ? asked.session.get() : nullptr;
        });
        return sessions;
    }

    // All hosts' engines, then all clocks, then what they say together.
    Rows host_rows() const {
        Rows rows;
        for (std::size_t i = 0; i < spec_.hosts.size(); ++i) {
            if (selection_.hosts[i] && !observation_.reached[i]) {
                rows.push_back(not_reached(spec_.hosts[i], observation_.errors));
            }
            std::ranges::copy_if(engine_findings_[i].rows, std::back_inserter(rows),
                                 [](const CheckRow& row) { return row.check == "engine"; });
        }
        std::vector<std::pair<HostName, EngineInfo>> infos;
        Rows toolkits;
        for (std::size_t i = 0; i < spec_.hosts.size(); ++i) {
            std::ranges::copy_if(engine_findings_[i].rows, std::back_inserter(rows),
                                 [](const CheckRow& row) { return row.check != "engine"; });
            if (engine_findings_[i].info) {
                infos.emplace_back(spec_.hosts[i].name, *engine_findings_[i].info);
                if (asks_for_gpus(spec_.hosts[i].gpus)) {
                    toolkits.push_back(judge_toolkit(spec_.hosts[i], *engine_findings_[i].info));
                }
            }
        }
        add(rows, judge_security(infos));
        for (std::size_t i = 0; i < spec_.hosts.size(); ++i) {
            const auto remark = judge_access(spec_.hosts[i]);
            if (selection_.hosts[i] && remark) {
                rows.push_back({.state = CheckRow::State::warn,
                                .subject = spec_.hosts[i].name.str(),
                                .check = "access",
                                .text = remark->message,
                                .hint = remark->hint});
            }
        }
        add(rows, std::move(toolkits));
        return rows;
    }

    Rows container_rows() const {
        Rows rows;
        for (const auto& node : selection_.nodes) {
            if (!observation_.reached[node.host]) {
                continue;
            }
            CheckRow row{.layer = CheckLayer::container, .subject = node.name.str(), .check = "container"};
            const auto& there = observation_.cluster.hosts[node.host].nodes;
            const auto asked = std::ranges::find_if(
                asked_, [&](const AskedNode& one) { return one.node->name == node.name; });
            if (asked == asked_.end()) {
                const auto found = std::ranges::find(there, node.name, &ObservedNode::node);
                row.state = State::fail;
                row.text = found == there.end() ? "the node is not up" : "the node is not ready";
                row.hint = "run `dockdist up`";
                if (found != there.end() && found->record) {
                    const auto by = made_by(found->labels);
                    row.text = other_words(by);
                    row.hint = bring_to_this_version(by);
                }
            } else if (!asked->told) {
                row.state = State::fail;
                row.text = "it does not answer: " + printable(asked->told.error().message);
                row.hint = asked->told.error().hint.empty() ? see_container_log(engines_[node.host]->podman())
                                                            : asked->told.error().hint;
            } else {
                const auto& record = asked->node->record;
                row.text = fmt::format("ready at {} ({}), ssh port {}", record.address, record.interface,
                                       record.ssh_port);
            }
            rows.push_back(std::move(row));
        }
        return rows;
    }

    std::vector<EngineRoot> engine_roots() const {
        std::vector<EngineRoot> roots;
        for (std::size_t i = 0; i < spec_.hosts.size(); ++i) {
            if (engine_findings_[i].info) {
                const auto& info = *engine_findings_[i].info;
                roots.push_back({spec_.hosts[i].name, info.root_dir, info.podman});
            }
        }
        return roots;
    }

    std::vector<std::string> host_names() const {
        std::vector<std::string> names;
        std::ranges::transform(spec_.hosts, std::back_inserter(names),
                               [](const auto& host) { return host.name.str(); });
        return names;
    }

    std::vector<std::string> node_names() const {
        std::vector<std::string> names;
        for (const auto& node : expand_nodes(spec_)) {
            names.push_back(node.name.str());
        }
        return names;
    }

    const ClusterSpec& spec_;
    const Engines& engines_;
    CheckSelection selection_;
    Observation observation_{};
    std::vector<ReadyNode> ready_{};
    std::vector<AskedNode> asked_{};              // of ready_
    std::vector<Result<wire::GpuReport>> gpus_{}; // the same
    std::vector<EngineFinding> engine_findings_;
    std::vector<std::string> mounts_{};
};

} // namespace

bool CheckReport::passed() const {
    return std::ranges::none_of(rows, [](const CheckRow& row) { return row.state == State::fail; });
}

Task<CheckReport> check_cluster(const ClusterSpec& spec, const Engines& engines, CheckSelection selection,
                                CheckOptions options, Reporter& reporter) {
    Check check(spec, engines, std::move(selection));
    co_return co_await check.run(options, reporter);
}

} // namespace dockdist
