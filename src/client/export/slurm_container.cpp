// Facts from pyxis' args.c (the options, and how mounts are read; --container-env is there since 0.15) and
// enroot's src/docker.sh (references).
#include "client/export/slurm_container.hpp"

#include "shared/core/text.hpp"

#include <algorithm>

namespace dockdist {
namespace {

Error left_out(std::string where, std::string message, std::string hint) {
    return {ErrorKind::config, std::move(where), std::move(message), std::move(hint)};
}

bool is_path(const std::string& image) {
    return image.starts_with('/') || image.starts_with("./");
}

// `.` of the file is "/home/ada/vision/" in what has been read.
std::string without_slash(const std::string& path) {
    return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

// A list of pyxis' has commas between its items, and colons in them.
bool fits_list(const std::string& path) {
    return path.find_first_of(",:") == std::string::npos;
}

std::string flags_of(const MountSpec& mount) {
    return mount.read_only ? ":ro" : "";
}

void add_mounts(const ExportJob& job, SlurmStep& step) {
    std::string list;
    const auto add = [&](const std::string& key, const std::string& source, const std::string& target,
                         const std::string& flags) {
        if (!fits_list(source) || !fits_list(target)) {
            step.warnings.push_back(left_out("`" + key + "`",
                                             "a path with a comma or a colon cannot be passed "
                                             "to pyxis, and is left out: " +
                                                 printable(source) + ", " + printable(target),
                                             "give it another name, or a link"));
            return;
        }
        if ((source + target).find(' ') != std::string::npos) {
            step.warnings.push_back(left_out(
                "`" + key + "`", "pyxis supports spaces in a path from version 0.24 on: " + printable(source),
                "where the mount fails: another name, or a link"));
        }
        list += (list.empty() ? "" : ",") + source + ":" + target + flags;
    };
    for (const auto& mount : job.spec.container.mounts) {
        if (!mount.source.starts_with('/')) {
            step.warnings.push_back(left_out(
                "`container.mounts`",
                "the volume " + printable(mount.source) + " has no counterpart in Slurm, and is left out",
                "mount a folder that the nodes share at " + printable(mount.target)));
            continue;
        }
        add("container.mounts", mount.source, mount.target, flags_of(mount));
        if (!mount.selinux.empty() || !mount.propagation.empty()) {
            step.warnings.push_back(left_out("`container.mounts`",
                                             printable(mount.source) + ": " +
                                                 (mount.selinux.empty() ? "propagation" : "selinux") +
                                                 " has no counterpart in Slurm, and is left out",
                                             "enroot mounts it as the nodes' administrator says"));
        }
    }
    if (job.sync) {
        for (const auto& sync : job.spec.sync) {
            add("sync", without_slash(sync.source), sync.target, "");
            step.warnings.push_back(
                left_out("`sync`",
                         "nothing is copied: " + printable(without_slash(sync.source)) +
                             " itself is mounted at " + printable(sync.target),
                         "it has to be on a file system that all nodes share, under that name"));
        }
    }
    if (!list.empty()) {
        step.options.push_back("--container-mounts=" + list);
    }
}

} // namespace

std::string enroot_image(const std::string& ref) {
    const bool is_enroots = ref.find('#') != std::string::npos || ref.find("://") != std::string::npos;
    if (is_path(ref) || is_enroots) {
        return ref;
    }
    const auto slash = ref.find('/');
    const auto registry = ref.substr(0, slash);
    if (slash == std::string::npos ||
        (registry.find_first_of(".:") == std::string::npos && registry != "localhost")) {
        return ref;
    }
    const auto image = ref.substr(slash + 1);
    return registry == "docker.io" ? image.substr(image.starts_with("library/") ? 8 : 0)
                                   : registry + "#" + image;
}

Result<SlurmStep> container_step(const ExportJob& job, const SlurmOptions& options) {
    const auto& container = job.spec.container;
    const auto ref = options.image.empty() ? job.spec.image.ref.str() : options.image;
    if (auto known = check_image(ref); !known) {
        auto error = known.error();
        error.hint += ", or --image FILE.sqsh, which `enroot import` makes";
        return error;
    }
    SlurmStep step{.mapped = {"container.entrypoint", "sync"}};
    if (ref.find("@sha256:") != std::string::npos) {
        step.warnings.push_back(left_out("`image`", "enroot supports digests from version 4 on",
                                         "where the import fails: --image REPOSITORY:TAG"));
    }
    step.options.push_back("--container-image=" + enroot_image(ref));
    add_mounts(job, step);
    if (!job.workdir.empty()) {
        step.options.push_back("--container-workdir=" + job.workdir);
    }
    std::set<std::string> names{"MASTER_ADDR", "MASTER_PORT"};
    names.insert(job.secrets.begin(), job.secrets.end());
    std::string list;
    for (const auto& name : names) {
        list += (list.empty() ? "" : ",") + name;
    }
    step.options.push_back("--container-env=" + list);
    step.options.emplace_back("--container-writable");
    step.options.emplace_back("--no-container-mount-home");
    const bool root = is_root(container.user);
    step.options.emplace_back(root ? "--container-remap-root" : "--no-container-remap-root");
    step.options.emplace_back(container.entrypoint == ContainerSpec::Entrypoint::image
                                  ? "--container-entrypoint"
                                  : "--no-container-entrypoint");
    if (!options.image.empty()) {
        step.mapped.insert({"image.build", "image.from"});
    }
    return step;
}

SlurmStep plain_step(const ExportJob& job) {
    SlurmStep step{.mapped = {"image.pull", "image.platform", "image.from", "image.build", "sync"}};
    auto folder = job.workdir;
    bool known = job.given.contains("--workdir");
    for (const auto& sync : job.spec.sync) {
        if (job.sync && (folder == sync.target || folder.starts_with(sync.target + "/"))) {
            folder = without_slash(sync.source) + folder.substr(sync.target.size());
            known = true;
        }
    }
    if (known) {
        step.options.push_back("--chdir=" + folder);
    } else if (!folder.empty()) {
        step.warnings.push_back(
            left_out("`container.workdir`", "it is a folder of the container, and there is none",
                     "--workdir PATH names one of the nodes; without it the job runs where "
                     "sbatch is called"));
    }
    for (const auto& mount : job.spec.container.mounts) {
        if (mount.source != mount.target) {
            step.warnings.push_back(left_out("`container.mounts`",
                                             "without containers nothing is at " + printable(mount.target) +
                                                 " but what the nodes have there",
                                             "the job finds it at " + printable(mount.source)));
        }
    }
    for (const auto& sync : job.spec.sync) {
        if (job.sync && sync.source != sync.target) {
            step.warnings.push_back(left_out("`sync`", "nothing is copied to " + printable(sync.target),
                                             "the job finds it at " + printable(without_slash(sync.source)) +
                                                 ", on a file system that all nodes share"));
        }
    }
    return step;
}

} // namespace dockdist
