#include "client/export/kubernetes/manifest.hpp"

#include "client/export/kubernetes/names.hpp"
#include "client/export/kubernetes/pod.hpp"
#include "client/export/kubernetes/yaml_text.hpp"
#include "client/export/node_script.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace dockdist {
namespace {

using Json = nlohmann::ordered_json;

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto size = decode_utf8(text).size;
        if (size == 0) {
            return false;
        }
        text.remove_prefix(size);
    }
    return true;
}

bool all_utf8(const Json& value) {
    if (value.is_string()) {
        return is_utf8(value.get_ref<const std::string&>());
    }
    for (const auto& item : value) {
        if (value.is_structured() && !all_utf8(item)) {
            return false;
        }
    }
    return true;
}

int nodes_of(const ExportJob& job) {
    return static_cast<int>(job.request.nodes.size());
}

// A job that has had its time is not begun anew.
Json failure_policy(const ExportJob& job, bool of_trainer) {
    Json policy = {{"maxRestarts", job.max_restarts}};
    if (job.max_restarts > 0 && job.timeout.count() > 0 && !of_trainer) {
        policy["rules"] = Json::array({{{"name", "timeout"},
                                        {"action", "FailJobSet"},
                                        {"onJobFailureReasons", Json::array({"DeadlineExceeded"})}}});
    }
    return policy;
}

std::int64_t seconds(std::chrono::milliseconds time) {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
}

// `leads`: the pod of node 0 is the job, and the others serve it.
Json set_spec(const ExportJob& job, Json pod, bool of_trainer, bool leads) {
    Json indexed = {{"parallelism", nodes_of(job)},
                    {"completions", nodes_of(job)},
                    {"completionMode", "Indexed"},
                    {"backoffLimit", 0}};
    if (job.timeout.count() > 0 && !of_trainer) { // TrainJobs have one of their own, for all attempts
        indexed["activeDeadlineSeconds"] = seconds(job.timeout);
    }
    if (leads && nodes_of(job) > 1) {
        indexed["successPolicy"] = {{"rules", Json::array({{{"succeededIndexes", "0"}}})}};
    }
    indexed["template"] = {{"spec", std::move(pod)}};
    Json job_template = Json::object();
    if (of_trainer) {
        job_template["metadata"] = {{"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}};
    }
    job_template["spec"] = std::move(indexed);
    return {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
            {"failurePolicy", failure_policy(job, of_trainer)},
            {"replicatedJobs",
             Json::array({{{"name", pods_name}, {"replicas", 1}, {"template", std::move(job_template)}}})}};
}

Json metadata(const std::string& name, const KubernetesOptions& options) {
    Json result = {{"name", name}};
    if (!options.name_space.empty()) {
        result["namespace"] = options.name_space;
    }
    return result;
}

Json labelled(const std::string& name, const KubernetesOptions& options) {
    auto result = metadata(name, options);
    if (!options.labels.empty()) {
        result["labels"] = options.labels;
    }
    return result;
}

void add_train_job(Manifest& manifest, const ExportJob& job, const KubernetesOptions& options, Json set) {
    const char* api = "trainer.kubeflow.org/v1alpha1";
    manifest.objects.push_back(
        {{"apiVersion", api},
         {"kind", "TrainingRuntime"},
         {"metadata", metadata(manifest.set, options)},
         {"spec", {{"mlPolicy", {{"numNodes", nodes_of(job)}}}, {"template", {{"spec", std::move(set)}}}}}});
    Json spec = {
        {"runtimeRef",
         {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "TrainingRuntime"}, {"name", manifest.set}}},
        {"trainer", {{"numNodes", nodes_of(job)}}}};
    if (job.timeout.count() > 0) {
        spec["activeDeadlineSeconds"] = seconds(job.timeout);
    }
    manifest.objects.push_back({{"apiVersion", api},
                                {"kind", "TrainJob"},
                                {"metadata", labelled(manifest.set, options)},
                                {"spec", std::move(spec)}});
}

Status check_rdma(const ExportJob& job, const KubernetesOptions& options, Errors& warnings) {
    const auto& spec = job.spec;
    if (!options.rdma.empty()) {
        return ok;
    }
    const std::string hint = "name the resource of its device plugin, --rdma-resource rdma/NAME: "
                             "`kubectl describe node` lists those that a machine has";
    if (spec.network.rdma == NetworkSpec::Rdma::required) {
        return Error{ErrorKind::usage, "`network.rdma`",
                     "RDMA is required, and nothing says how a pod gets it", hint};
    }
    if (spec.network.rdma == NetworkSpec::Rdma::automatic && spec.container.devices_auto && job.gpus > 0 &&
        nodes_of(job) > 1) {
        warnings.push_back(
            {ErrorKind::config, "`network.rdma`",
             "pods get no RDMA devices by themselves: between machines NCCL goes over TCP",
             "where there is RDMA, " + hint + "; where there is none, `network: {rdma: off}`"});
    }
    return ok;
}

// As in jobs on dockdist's own nodes, whatever ports they have.
void set_rdma_variables(ExportJob& job) {
    if (job.spec.network.rdma == NetworkSpec::Rdma::off) {
        job.env.emplace("NCCL_IB_DISABLE", "1");
    } else if (job.spec.network.rdma == NetworkSpec::Rdma::required) {
        job.env.emplace("NCCL_NET", "IB");
    }
}

// What a pod finds out before the launcher starts. The name of the first one is known to the others as soon
// as it has an address; Ray's head and its like want a number for themselves: but for IPv6's, which stand in
// no HOST:PORT. The network's interface is that of the default route, where the kubelet takes a machine's
// address from as well.
std::string preamble(const Manifest& manifest, int nodes) {
    if (nodes == 1) {
        return "master=127.0.0.1\n";
    }
    return fmt::format(R"(case $JOB_COMPLETION_INDEX:$POD_IP in
0:*:*) master={0} ;;
0:*) master=$POD_IP ;;
*) master={0} ;;
esac
while read -r interface destination rest; do
    [ "$destination" = 00000000 ] || continue
    export NCCL_SOCKET_IFNAME="${{NCCL_SOCKET_IFNAME:-=$interface}}"
    export GLOO_SOCKET_IFNAME="${{GLOO_SOCKET_IFNAME:-$interface}}"
    export TP_SOCKET_IFNAME="${{TP_SOCKET_IFNAME:-$interface}}"
    break
done </proc/net/route
)",
                       pod_address(manifest.set, 0));
}

constexpr const char* job_token = "JOB_TOKEN"; // the variable of what the nodes of a job know each other by

ScriptWords words_of(const ExportJob& job, const Manifest& manifest) {
    ScriptWords words{
        .engine = "Kubernetes",
        .node_rank = "$JOB_COMPLETION_INDEX",
        .master_addr = "$master",
        .master_port = "29500",
        .node_addr = "$POD_IP",
        .job = manifest.set,
        .secret = fmt::format("${}", job_token),
        .no_ssh_hint =
            "take a launcher that starts its ranks on every node: torchrun, deepspeed without "
            "--via, accelerate, or `plain --per-rank`; for MPI, Kubeflow's TrainJob has a runtime of its own",
        .grace = std::chrono::ceil<std::chrono::seconds>(job.grace)};
    for (int i = 0; i < nodes_of(job); ++i) {
        words.addresses.push_back(pod_address(manifest.set, i));
    }
    words.names = words.addresses;
    return words;
}

// What the manifest holds, or pod_spec() tells of itself.
const std::set<std::string> held{"image.pull",
                                 "image.platform",
                                 "container.shm_size",
                                 "container.ipc",
                                 "container.devices",
                                 "container.user",
                                 "container.privileged",
                                 "container.cap_add",
                                 "container.runtime",
                                 "network.rdma",
                                 "--timeout",
                                 "--grace",
                                 "--max-restarts",
                                 "container.no_new_privileges",
                                 "--kind",
                                 "--namespace",
                                 "--label",
                                 "--node-selector",
                                 "--toleration",
                                 "--rdma-resource",
                                 "--secret",
                                 "--image-pull-secret",
                                 "--runtime-class",
                                 "--pod-network"};

Status give_names(Manifest& manifest, const ExportJob& job) {
    auto set = set_name(job.name, nodes_of(job));
    TRY(set);
    manifest.set = std::move(*set);
    if (manifest.set != job.name) {
        manifest.warnings.push_back(
            {ErrorKind::config, "",
             fmt::format("the job `{}` is called {} there: names have no other letters in Kubernetes",
                         job.name, manifest.set),
             ""});
    }
    return ok;
}

// How to make the Secret, from variables of a shell.
std::string secret_command(const Manifest& manifest, const KubernetesOptions& options) {
    std::string command = "kubectl create secret generic " + manifest.secret;
    if (!options.name_space.empty()) {
        command += " --namespace " + options.name_space;
    }
    for (const auto& key : manifest.secret_keys) {
        command += fmt::format(" --from-literal={}=\"{}\"", key,
                               key == job_token ? "$(openssl rand -hex 32)" : "$" + key);
    }
    return command;
}

Error not_utf8() {
    return {ErrorKind::usage, "",
            "the command or a variable has bytes that are not UTF-8, which a manifest cannot hold",
            "put them into a file of the image"};
}

} // namespace

Result<Manifest> make_manifest(ExportJob job, const KubernetesOptions& options) {
    TRY(check_image(job.spec.image.ref.str()));
    take_out(job, [](const std::string& name) {
        return name == "POD_IP" || name == "JOB_COMPLETION_INDEX" || name == job_token;
    });
    Manifest manifest{.warnings = std::move(job.warnings)};
    TRY(give_names(manifest, job));
    TRY(check_rdma(job, options, manifest.warnings));
    const auto script = node_script(job, words_of(job, manifest));
    TRY(script);
    manifest.secret_keys = job.secrets;
    if (script->names_secret) {
        manifest.secret_keys.emplace_back(job_token);
    }
    if (!manifest.secret_keys.empty()) {
        manifest.secret = options.secret.empty() ? manifest.set : options.secret;
    }
    const auto text = preamble(manifest, nodes_of(job)) + script->text;
    TRY(fits_one_word(job, text));
    set_rdma_variables(job);
    const bool trains = options.kind == KubernetesOptions::Kind::trainjob;
    auto pod = pod_spec(job, text, options, manifest, manifest.warnings);
    auto body = set_spec(job, std::move(pod), trains, script->ends_with_first);
    if (trains) {
        add_train_job(manifest, job, options, std::move(body));
    } else {
        manifest.objects.push_back({{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                    {"kind", "JobSet"},
                                    {"metadata", labelled(manifest.set, options)},
                                    {"spec", std::move(body)}});
    }
    if (!std::ranges::all_of(manifest.objects, all_utf8)) {
        return not_utf8();
    }
    if (!manifest.secret.empty()) {
        manifest.warnings.push_back(
            {ErrorKind::config, "`container.secrets`",
             fmt::format("the values are not in the manifest: it takes them from the Secret {}",
                         manifest.secret),
             secret_command(manifest, options)});
    }
    auto left_out = unmapped(job, "Kubernetes", held);
    std::ranges::move(left_out, std::back_inserter(manifest.warnings));
    return manifest;
}

std::string to_yaml_text(const Manifest& manifest, const KubernetesOptions& options) {
    const auto in = options.name_space.empty() ? "" : " --namespace " + options.name_space;
    std::string text =
        fmt::format("# kubectl apply --filename THIS-FILE\n"
                    "# kubectl logs{} --follow --prefix --selector jobset.sigs.k8s.io/jobset-name={}\n",
                    in, manifest.set);
    for (const auto& object : manifest.objects) {
        text += (&object == &manifest.objects.front() ? "" : "---\n") + to_yaml(object);
    }
    return text;
}

Json to_list(const Manifest& manifest) {
    return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", manifest.objects}};
}

} // namespace dockdist
