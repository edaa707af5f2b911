// Carries a Plan out, phase by phase. It decides nothing: hosts run side by side, the operations of one host
// in order; a host that fails stops at its failure while the others finish the phase.
#pragma once

#include "cluster/gpu_look.hpp"
#include "cluster/join.hpp"
#include "cluster/up.hpp"
#include "plan/plan.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

class PlanExecutor {
public:
    PlanExecutor(const ClusterSpec& spec, const Engines& engines, const Toolkit& toolkit, Reporter& reporter);

    Task<Observation> observe();
    Task<Errors> pull(const Plan& plan, const RegistryAuth& auth);
    Task<Errors> send(const Plan& plan, const ImageSource& source, std::string attempt, std::string origin);
    Task<void> stop_jobs(const Plan& plan);
    // Looks at the GPUs of `hosts`, with the toolkit, which is brought there where `plan` says so.
    Task<Errors> look(GpuLook& look, ObservedCluster& observed, const Plan& plan,
                      std::vector<std::size_t> hosts);
    Task<Errors> create(const Plan& plan); // uploads, removals and creates
    Task<Errors> start(const Plan& plan);
    Task<JoinResult> join(const Plan& plan, std::chrono::milliseconds ready_timeout);

    // `id`, or the container that create() made for the node.
    ContainerId container_of(const NodeName& node, const ContainerId& id) const;
    const std::string& toolkit_version() const { return toolkit_.version; }
    const std::vector<PhaseTiming>& timings() const { return timings_; }

private:
    // Runs `work(host)` for every host, with the events and the timing of a phase.
    template <class Work>
    Task<Errors> on_hosts(std::string phase, std::vector<std::size_t> hosts, Work work);

    void finish_phase(PhaseTiming timing);
    Task<Status> pull_on(std::size_t host, const Plan& plan, const RegistryAuth& auth);
    Task<Status> upload_on(std::size_t host, const Plan& plan);
    Task<Status> create_on(std::size_t host, const Plan& plan);
    Task<Status> start_on(std::size_t host, const Plan& plan);
    Task<Status> create_node(const CreateNode& create);
    Task<Status> start_node(const StartNode& start);
    Task<Status> upload(std::size_t host, std::string container_name, ContainerConfig config);

    const ClusterSpec& spec_;
    const Engines& engines_;
    const Toolkit& toolkit_;
    Reporter& reporter_;
    std::map<NodeName, ContainerId> created_{};
    std::vector<PhaseTiming> timings_{};
};

} // namespace dockdist
