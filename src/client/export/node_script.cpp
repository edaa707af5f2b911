#include "client/export/node_script.hpp"

#include "client/export/marked_words.hpp"
#include "client/export/script_writer.hpp"

#include <fmt/format.h>

#include <map>

namespace dockdist {
namespace {

// The versions of tools that launchers ask nodes for; only ways over ssh do something else by them.
const std::map<std::string, std::string> versions{
    {"python", "3.12"},          {"torch", "2.6"},
    {"mpirun", "Open MPI 5"},    {"mpirun.openmpi", "Open MPI 5"},
    {"mpirun.mpich", "MPICH 4"}, {"accelerate", "1.5"},
    {"deepspeed", "0.16"},       {"ray", "2.52"}};

Result<std::vector<NodeLaunch>> launches_of(const ExportJob& job, LaunchRequest request,
                                            const ScriptWords& words, const Markers& markers) {
    markers.put_into(request, words.names);
    for (auto& node : request.nodes) {
        node.versions = versions;
        node.interface = "eth0";
    }
    return job.launcher.launch(request);
}

// With one node it does not show: so two are asked for.
bool starts_over_ssh(const ExportJob& job, const ScriptWords& words, const Markers& markers) {
    auto request = job.request;
    request.nodes.resize(1);
    request.nodes.push_back(request.nodes.front());
    const auto launches = launches_of(job, std::move(request), words, markers);
    return launches && (*launches)[1].start.argv.empty();
}

} // namespace

Result<NodeScript> node_script(const ExportJob& job, const ScriptWords& words) {
    const Markers markers(job.request, static_cast<std::size_t>(ports_of(job.launcher, job.request)));
    if (starts_over_ssh(job, words, markers)) {
        return Error{ErrorKind::usage, job.request.via.empty() ? "--launcher" : "--via",
                     fmt::format("{} starts its ranks over ssh, and the nodes of {} have none of dockdist's",
                                 job.request.via.empty() ? "the launcher " + std::string(job.launcher.name)
                                                         : "the way " + job.request.via,
                                 words.engine),
                     words.no_ssh_hint};
    }
    const auto launches = launches_of(job, job.request, words, markers);
    TRY(launches);
    return ScriptWriter(job, words, markers, *launches).write();
}

Status fits_one_word(const ExportJob& job, const std::string& script) {
    if (script.size() < most_of_a_word) {
        return ok;
    }
    return Error{
        ErrorKind::usage, "",
        fmt::format("what each of {} nodes runs would be a script of more than {} KiB, too long for a "
                    "command line",
                    job.request.nodes.size(), most_of_a_word >> 10U),
        "put what is long into a file that the nodes see; torchrun, deepspeed and accelerate need no "
        "list of all nodes"};
}

} // namespace dockdist
