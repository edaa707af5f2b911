#include "node/boot/node_prepare.hpp"

#include "node/system/accounts.hpp"
#include "node/system/amd_gpus.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/store.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

// The toolkit comes first in the PATH that every session and job gets.
Environment container_environment() {
    auto environment = Environment::own();
    environment.set("PATH", with_toolkit_first(environment.get("PATH").value_or(default_path)));
    return environment;
}

void make_sticky_folder(const std::string& path, const UserMounts& mounts) {
    if (!mounts.hold(path) && ::mkdir(path.c_str(), 0700) == 0) {
        (void)::chmod(path.c_str(), 01777);
    }
}

// sshd's empty place for its unprivileged half; it refuses to start without.
Status make_sshd_folder(const UserMounts& mounts) {
    const auto path = under_root("/run/sshd");
    if (!mounts.hold(path)) {
        return make_folder(path, 0755);
    }
    struct stat status{};
    if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == 0 &&
        (status.st_mode & 0022U) == 0) {
        return ok;
    }
    return Error{.kind = ErrorKind::config,
                 .message =
                     path +
                     " is in a mount from the file, and is not a folder of root's alone, as sshd needs it",
                 .hint = std::string("leave out the mount that holds it") + never_written};
}

} // namespace

Status prepare_container() {
    const auto& place = paths();
    if (auto made = make_folders(place.run, 0755); !made) {
        return made;
    }
    for (const auto& name : list_folder(place.run)) {
        remove_tree(place.run + "/" + name);
    }
    if (auto made = make_folder(place.private_folder, 0700); !made) {
        return made;
    }
    if (auto made = make_folder(place.job_sockets, 0711); !made) {
        return made;
    }
    // The engine has made it so; one that has not is mended before anybody else runs here.
    if (auto made = make_folders(place.shared, 0700); !made) {
        return made;
    }
    const auto environment = container_environment().block();
    // Root alone reads it until join knows which user the jobs are run as.
    for (const auto& path : {place.created_environment, place.container_environment, place.environment}) {
        if (auto written = replace_file(path, environment, 0600); !written) {
            return written;
        }
    }
    for (const auto& [path, mode] : {std::pair(place.created_workdir, 0600), {place.workdir, 0644}}) {
        if (auto written = replace_file(path, current_folder(), static_cast<mode_t>(mode)); !written) {
            return written;
        }
    }
    return ok;
}

Status take_settings(const wire::NodeSettings& settings) {
    const auto& place = paths();
    const auto created = read_file(place.created_environment);
    TRY(created);
    auto environment = Environment::from_block(*created);
    for (const auto& name : settings.unset) {
        environment.unset(name);
    }
    for (const auto& [name, value] : settings.env) {
        environment.set(name, value);
    }
    if (auto written = replace_file(place.container_environment, environment.block(), 0600); !written) {
        return written;
    }
    if (auto saved = save_history_limits(settings.history); !saved) {
        return saved;
    }
    const auto folder =
        settings.workdir.empty() ? read_file_or_empty(place.created_workdir) : settings.workdir;
    // As an engine does when it creates a container; where it cannot be made, jobs say that it is missing.
    (void)make_folders(under_root(folder.c_str()), 0755);
    return replace_file(place.workdir, folder, 0644);
}

Status prepare_places(const UserMounts& mounts) {
    make_sticky_folder(under_root("/tmp"), mounts);
    make_sticky_folder(under_root("/dev/shm"), mounts);
    open_amd_gpus_to_all(mounts);
    if (mounts.hold(paths().store)) {
        return Error{.kind = ErrorKind::config,
                     .message = paths().store + ", where jobs keep their output, is in a mount from the file",
                     .hint = std::string("leave out the mount that holds it") + never_written};
    }
    // Whoever runs a line says in a folder of its own that it was done.
    if (auto made = make_folders(paths().setup, 0755); !made) {
        return made;
    }
    if (auto made = make_folder(paths().setup_users, 01777); !made) {
        return made;
    }
    return make_sshd_folder(mounts);
}

} // namespace dockdist::node
