// Carries a Plan out, phase by phase. It decides nothing: hosts run side by side, the operations of one host
// in order; a host that fails stops at its failure while the others finish the phase.
#pragma once

#include "client/cluster/gpu_survey.hpp"
#include "client/cluster/join.hpp"
#include "client/cluster/replaced_nodes.hpp"
#include "client/cluster/toolkit_bringer.hpp"
#include "client/cluster/up.hpp"
#include "client/plan/plan.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

class PlanExecutor {
public:
    PlanExecutor(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits,
                 Reporter& reporter);

    Task<Observation> observe(std::vector<bool> only = {}); // the hosts to look at; empty: all
    Task<Errors> pull(const Plan& plan, const RegistryAuth& auth);
    Task<Errors> send(const Plan& plan, const ImageSource& source, std::string attempt, std::string origin);
    Task<void> stop_jobs(const Plan& plan);
    // Looks at the GPUs of `hosts`, with the toolkit, which is brought there where `plan` says so.
    Task<Errors> look(GpuSurvey& look, ObservedCluster& observed, const Plan& plan,
                      std::vector<std::size_t> hosts);
    // Uploads, removals and creates, then the starts: a host does not wait for others in between. A container
    // that is new is asked to join before it is started, so that its first process begins with that.
    Task<Errors> create_and_start(const Plan& plan, std::chrono::milliseconds ready_timeout);
    Task<Errors> stop_replaced(); // when all new ones have started
    ReplacedNodes& replaced() { return replaced_; }
    Task<JoinResult> join(const Plan& plan, std::chrono::milliseconds ready_timeout);

    // `id`, or the container that create() made for the node.
    ContainerId container_of(const NodeName& node, const ContainerId& id) const;
    const Toolkits& toolkits() const { return toolkits_; }
    const std::vector<PhaseTiming>& timings() const { return timings_; }

private:
    // Runs `work(host)` for every host, with the events and the timing of a phase.
    template <class Work>
    Task<Errors> on_hosts(std::string phase, std::set<std::size_t> hosts, Work work);
    template <class Work>
    Task<Errors> run_on(std::set<std::size_t> hosts, Work work);

    // `work` brings hosts the toolkit, among other things.
    Task<Errors> bring_toolkit(const std::vector<UploadToolkit>& uploads, Task<Errors> work);

    void finish_phase(PhaseTiming timing);
    Task<Status> pull_on(std::size_t host, const Plan& plan, const RegistryAuth& auth);
    Task<Status> upload_on(std::size_t host, const Plan& plan);
    Task<Status> create_on(std::size_t host, const Plan& plan);
    Task<Status> start_on(std::size_t host, const Plan& plan, std::chrono::milliseconds ready_timeout);
    Task<Status> create_node(const CreateNode& create);
    // `create`: what has made it in this plan; null: it stood before.
    Task<Status> start_node(const StartNode& start, const CreateNode* create,
                            std::optional<wire::JoinRequest> join);

    const ClusterSpec& spec_;
    const Engines& engines_;
    const Toolkits& toolkits_;
    Reporter& reporter_;
    ToolkitBringer bringer_;
    ReplacedNodes replaced_;
    std::map<NodeName, ContainerId> created_{};
    std::map<NodeName, std::unique_ptr<ExecStream>> attached_{}; // asked to join
    std::vector<PhaseTiming> timings_{};
};

} // namespace dockdist
