#include "node/job/srun/srun.hpp"

#include "core/exit_codes.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"
#include "node/job/srun/srun_layout.hpp"
#include "node/job/srun/srun_options.hpp"
#include "node/job/srun/srun_output.hpp"
#include "node/job/srun/srun_step.hpp"
#include "node/session/job_part.hpp"
#include "node/session/scontrol.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "wire/job.hpp"
#include "wire/join.hpp"

#include <climits>

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int wrong_option = 255; // as Slurm's

struct Cluster {
    std::vector<SrunNode> available{};
    std::map<std::string, std::string> interfaces{}; // by node
};

// SLURM_JOB_NODELIST's nodes, else all of the cluster's; within a job each with as many slots as it holds
// here.
Result<Cluster> find_cluster(const std::optional<JobPart>& part) {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    const auto names = expand_host_list(own_host_list());
    if (!members || !names) {
        return Error{.kind = ErrorKind::not_found,
                     .message = "this is no node of a dockdist cluster that is up"};
    }
    Cluster cluster;
    const int held = part ? part->units : 0;
    for (const auto& name : *names) {
        const auto node = std::ranges::find(members->nodes, name, &wire::NodeRecord::node);
        if (node == members->nodes.end()) {
            return Error{.kind = ErrorKind::not_found,
                         .message = "SLURM_JOB_NODELIST: " + printable(name) + " is no node of this cluster"};
        }
        cluster.available.push_back({.name = node->node,
                                     .address = node->address,
                                     .slots = held > 0 ? held : node->slots,
                                     .gpus_there = held > 0 && node->gpus > 0 ? held : node->gpus});
        cluster.interfaces[node->node] = node->interface;
    }
    return cluster;
}

// A stdin that is closed (`<&-`) is an empty one: else what is opened next would be taken for it.
void open_missing_streams() {
    for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) {
        fd = ::open("/dev/null", O_RDWR);
        if (fd > STDERR_FILENO) {
            ::close(fd);
        }
    }
}

std::string own_folder() {
    char folder[PATH_MAX] = {};
    return ::getcwd(folder, sizeof folder) != nullptr ? folder : "/";
}

} // namespace

int run_srun(const std::vector<std::string>& arguments) {
    open_missing_streams();
    const auto own = Environment::own();
    auto options = parse_srun(arguments, own);
    if (!options && options.error().kind == ErrorKind::usage) {
        srun_remark(options.error().message);
        (void)write_all(STDERR_FILENO, "Try \"srun --help\" for more information\n");
        return wrong_option;
    }
    if (!options) {
        return srun_error(options.error().message);
    }
    if (options->what != SrunOptions::What::run) {
        const auto text = options->what == SrunOptions::What::help
                              ? srun_usage()
                              : std::string("slurm 22.05 (dockdist's srun, there is no Slurm here)\n");
        return write_all(STDOUT_FILENO, text) ? 0 : exit_codes::failed;
    }
    std::optional<JobPart> part;
    if (auto loaded = load_part(own.get(wire::job_mark).value_or(""))) {
        part = std::move(*loaded);
    }
    auto cluster = find_cluster(part);
    if (!cluster) {
        return srun_error(cluster.error().message);
    }
    auto nodes = lay_out(*options, cluster->available);
    if (!nodes) {
        return srun_error("Unable to allocate resources: " + nodes.error().message);
    }
    for (const auto& line : options->quiet ? std::vector<std::string>{} : options->remarks) {
        srun_remark(line);
    }
    options->own_folder = own_folder();
    if (!options->folder.starts_with('/')) {
        options->folder = options->own_folder + (options->folder.empty() ? "" : "/" + options->folder);
    }
    return SrunStep(std::move(*options), std::move(*nodes), std::move(cluster->interfaces), std::move(part))
        .run();
}

} // namespace dockdist::node
