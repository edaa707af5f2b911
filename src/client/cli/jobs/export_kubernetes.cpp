#include "client/cli/jobs/export.hpp"
#include "client/cli/line/values.hpp"
#include "client/export/kubernetes/options.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {
namespace {

CLI::Option* repeatable(CLI::Option* option, const char* type) {
    return option->type_name(type)->allow_extra_args(false);
}

Result<Exported> export_kubernetes(const ExportJob& job, const KubernetesWords& words) {
    const auto options = read_options(words);
    TRY(options);
    auto manifest = make_manifest(job, *options);
    TRY(manifest);
    return Exported{.text = to_yaml_text(*manifest, *options),
                    .json = to_list(*manifest).dump(),
                    .warnings = std::move(manifest->warnings)};
}

} // namespace

void add_export_kubernetes(CLI::App& exports, Program& program) {
    auto words = std::make_shared<KubernetesWords>();
    auto* command = exports.add_subcommand(
        "kubernetes",
        "Print a JobSet, or a TrainJob, from the same options that `run` takes; -o json: as a List");
    choice(command->add_option("--kind", words->kind,
                               "jobset, or trainjob: Kubeflow's, with a TrainingRuntime of its own"),
           {"jobset", "trainjob"})
        ->capture_default_str();
    command
        ->add_option("--namespace", words->name_space, "The namespace (default: that of kubectl's context)")
        ->type_name("NAME");
    repeatable(command->add_option("--label", words->labels,
                                   "A label of the job: kueue.x-k8s.io/queue-name=training; repeatable"),
               "KEY=VALUE");
    repeatable(command->add_option("--node-selector", words->node_selector,
                                   "Only machines with this label; repeatable"),
               "KEY=VALUE");
    repeatable(command->add_option(
                   "--toleration", words->tolerations,
                   "Machines with this taint too, KEY=VALUE:EFFECT or a part of it; repeatable (that of "
                   "machines with GPUs is tolerated)"),
               "KEY:EFFECT");
    repeatable(command->add_option("--rdma-resource", words->rdma,
                                   "The resource of the RDMA device plugin, and how many where it is not 1: "
                                   "rdma/hca_shared_devices_a; repeatable"),
               "NAME=COUNT");
    command
        ->add_option("--secret", words->secret,
                     "The Secret that holds container.secrets (default: the job's name)")
        ->type_name("NAME");
    command->add_option("--image-pull-secret", words->image_pull_secret, "The Secret of the image's registry")
        ->type_name("NAME");
    command->add_option("--runtime-class", words->runtime_class, "The RuntimeClass of the pods")
        ->type_name("NAME");
    command->add_flag("--pod-network", words->pod_network,
                      "Pods get addresses of their own, not the network of their machines");
    set_export(*command, program, [words](const ExportJob& job) { return export_kubernetes(job, *words); });
}

} // namespace dockdist
