#include "client/export/export_job.hpp"
#include "client/spec/names.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {

void take_from_file(ExportJob& job, Placed nodes) {
    job.request.nodes = std::move(nodes.nodes);
    job.gpus = nodes.gpus;
    job.amd = nodes.amd;
    job.whole_nodes = nodes.whole_nodes;
    job.env_differs = nodes.env_differs;
    job.mig = nodes.mig;
    if (job.spec.container.ipc_chosen) { // for two nodes on one machine, which a scheduler does not have
        job.spec.container.ipc = ContainerSpec().ipc;
    }
    job.env = job.spec.container.env;
    for (const auto& [name, value] : nodes.env) {
        job.env[name] = value;
    }
    for (const auto& secret : job.spec.container.secrets) {
        job.secrets.push_back(secret.name);
        job.env.erase(secret.name); // as `run` has it: of one name, the secret
        if (job.own_env.erase(secret.name) > 0) {
            job.warnings.push_back({ErrorKind::usage, "--env",
                                    secret.name + " is a secret of the file: its value is not written down",
                                    "it is taken from where the job gets its secrets"});
        }
    }
    for (const auto& [name, value] : job.own_env) {
        job.env[name] = value;
    }
}

void take_out(ExportJob& job, const std::function<bool(const std::string& name)>& is_own) {
    std::erase_if(job.env, [&](const auto& variable) {
        const auto& name = variable.first;
        const bool can_be_set = is_shell_name(name);
        if (can_be_set && !is_own(name)) {
            return false;
        }
        job.own_env.erase(name);
        job.warnings.push_back(
            {ErrorKind::config, "`container.env`",
             fmt::format("{} is left out: {}", printable(name),
                         can_be_set ? "the name is the scheduler's own" : "a shell cannot set it"),
             "give it another name"});
        return true;
    });
}

Status check_image(const std::string& ref) {
    if (!ref.starts_with("sha256:")) {
        return ok;
    }
    return Error{ErrorKind::config, "`image`", "an image's id is not a name that a registry knows",
                 "write its REPOSITORY:TAG"};
}

} // namespace dockdist
