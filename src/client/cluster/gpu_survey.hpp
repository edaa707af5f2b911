// What GPUs hosts have and who of dockdist has them, told by a short-lived container on each. Its name is one
// for all clusters, and creating it is atomic: while it is there nobody else chooses GPUs on that host.
#pragma once

#include "client/observe/observe.hpp"
#include "client/plan/plan.hpp"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

class GpuSurvey {
public:
    struct Setting {
        Toolkits toolkits{};
        std::string attempt{};
        std::string origin{};
        std::chrono::milliseconds patience{60000}; // with other clusters that choose
    };
    GpuSurvey(const ClusterSpec& spec, const Engines& engines, Setting setting);

    // Looks at all of `hosts` and writes what it sees into `observed`: ObservedHost::gpus and neighbours. The
    // hosts are held from then on, all or none of them: so no two clusters wait for each other. Errors: what
    // a host's engine or nvidia-smi says; locked, where somebody else chooses all the while.
    Task<Errors> take(ObservedCluster& observed, std::vector<std::size_t> hosts, Reporter& reporter);
    // Removes the containers: when those exist that bear what was chosen, or nothing is to be chosen.
    Task<void> give_back();

private:
    ContainerConfig config_for(std::size_t host) const;
    Task<Result<std::vector<std::size_t>>> hold(const std::vector<std::size_t>& hosts);
    Task<Status> look(ObservedHost& seen, std::size_t host, Reporter& reporter);
    Task<Result<wire::GpuReport>> report_of(std::size_t host);
    Task<Result<std::vector<Neighbour>>> neighbours_on(std::size_t host);
    Task<std::optional<Error>> in_the_way(std::size_t host);

    const ClusterSpec& spec_;
    const Engines& engines_;
    Setting setting_;
    std::map<std::size_t, std::string> versions_{}; // of the toolkit, by host
    std::map<std::size_t, EngineInfo> engine_infos_{};
    std::set<std::size_t> by_cdi_{};            // hosts whose GPUs are asked for by CDI names
    std::map<std::size_t, ContainerId> held_{}; // by host
};

} // namespace dockdist
