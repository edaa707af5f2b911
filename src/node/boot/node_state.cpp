#include "node/boot/node_state.hpp"

#include "core/text.hpp"
#include "node/boot/node_files.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "wire/json_reader.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int keygen_limit_ms = 20000;

Status update_account_file(const std::string& path, const std::string& before, const std::string& after,
                           mode_t mode) {
    if (before == after) {
        return ok;
    }
    if (!mount_root(path).empty()) {
        return Error{
            .kind = ErrorKind::config,
            .message =
                path + " is mounted into the container, and lacks an entry that sshd or container.user needs",
            .hint =
                "leave that mount out, or give the file entries for sshd, root and container.user; dockdist "
                "does not write to a host's files"};
    }
    return replace_file(path, after, mode);
}

Status make_home(const Account& account) {
    if (is_folder(account.home)) {
        return ok;
    }
    auto made = make_folders(account.home, account.uid == 0 ? 0700 : 0755, {account.uid, account.gid});
    // A home in a place where none can be made is not a reason to fail: sessions then begin in /.
    return made || account.home == "/" ? made : Status(ok);
}

Result<std::string> public_key(const std::string& path, const std::string& public_path, const Owner& owner) {
    if (::access(path.c_str(), F_OK) != 0) {
        const auto temporary = paths().private_folder + "/new-key";
        ::unlink(temporary.c_str());
        ::unlink((temporary + ".pub").c_str());
        const auto made = run_helper(
            paths().ssh_keygen, {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", temporary},
            clean_environment(), keygen_limit_ms);
        if (made.code != 0) {
            return Error{.kind = ErrorKind::node, .message = "ssh-keygen failed: " + printable(made.output)};
        }
        if (::rename((temporary + ".pub").c_str(), public_path.c_str()) != 0 ||
            ::lchown(temporary.c_str(), owner.uid, owner.gid) != 0 || ::chmod(temporary.c_str(), 0600) != 0 ||
            ::rename(temporary.c_str(), path.c_str()) != 0) {
            return system_error("cannot place the key " + path, errno);
        }
    }
    const auto text = read_file(public_path, 4096);
    if (!text) {
        return text.error();
    }
    auto fields = split(text->substr(0, text->find('\n')), ' ');
    fields.resize(2);
    return fields[0] + " " + fields[1];
}

// root reads it, and so do jobs and sessions of container.user; nobody else does, as it may hold tokens.
Status write_environment(const wire::NodeRecord& self, const wire::Members& members, const Account& account) {
    const auto block = read_file(paths().container_environment);
    if (!block) {
        return block.error();
    }
    auto environment = Environment::from_block(*block);
    for (const auto& [name, value] : node_variables(self, members)) {
        environment.set_default(name, value);
    }
    if (is_folder(paths().profile_folder)) {
        const auto script = profile_script(environment.get("PATH").value_or(default_path));
        if (auto written = replace_file(paths().profile_folder + "/zz-dockdist.sh", script, 0644); !written) {
            return written;
        }
    }
    return replace_file(paths().environment, environment.block(), 0640, {0, account.gid});
}

Status write_hosts(const wire::NodeRecord& self, const wire::Members& members) {
    const auto& path = paths().hosts;
    if (mount_root(path) == path) {
        return ok; // the host's own file was mounted; it is not ours to write
    }
    const auto before = read_file_or_empty(path);
    const auto after = mend_hosts(before, self, members);
    return before == after ? Status(ok) : write_in_place(path, after);
}

// DeepSpeed looks at /job/hostfile when it is given none. A /job of the user's own stays as it is.
Status link_deepspeed_hostfile() {
    const auto folder = under_root("/job");
    const auto link = folder + "/hostfile";
    if (read_link(link) == paths().hostfile || (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)) {
        return ok;
    }
    (void)::chmod(folder.c_str(), 0755);
    (void)::symlink(paths().hostfile.c_str(), link.c_str());
    return ok;
}

} // namespace

Result<Account> prepare_account(const std::string& user) {
    const auto& place = paths();
    const auto passwd = read_file_or_empty(place.passwd);
    auto account = find_account(user, passwd, read_file_or_empty(place.group));
    if (!account) {
        return account.error();
    }
    const auto mended = mend_passwd(passwd, *account, place.own, is_executable);
    if (auto written = update_account_file(place.passwd, passwd, mended, 0644); !written) {
        return written.error();
    }
    const auto shadow = read_file_or_empty(place.shadow);
    struct stat status{};
    const bool has_shadow = ::stat(place.shadow.c_str(), &status) == 0;
    if (has_shadow) {
        const auto mended_shadow = mend_shadow(shadow, account->name);
        if (shadow != mended_shadow && mount_root(place.shadow).empty()) {
            if (auto written = replace_file(place.shadow, mended_shadow, status.st_mode & 07777U,
                                            {status.st_uid, status.st_gid});
                !written) {
                return written.error();
            }
        }
    }
    if (auto made = make_home(*account); !made) {
        return made.error();
    }
    return account;
}

Result<PublicKeys> make_keys(const Account& account) {
    const auto& place = paths();
    const Owner user{account.uid, account.gid};
    for (const auto& made :
         {make_folder(place.private_folder, 0700), make_folder(place.user_folder, 0700, user)}) {
        if (!made) {
            return made.error();
        }
    }
    const auto host = public_key(place.host_key, place.host_public_key, {});
    if (!host) {
        return host.error();
    }
    const auto own = public_key(place.user_key, place.user_public_key, user);
    if (!own) {
        return own.error();
    }
    return PublicKeys{.user = *own, .host = *host};
}

Status write_state(const wire::NodeRecord& self, const wire::Members& members, const Account& account) {
    if (auto checked = check_members(members); !checked) {
        return checked;
    }
    const auto& place = paths();
    const std::pair<std::string, std::string> files[] = {
        {place.authorized_keys, authorized_keys(members)},
        {place.known_hosts, known_hosts(members)},
        {place.ssh_config, ssh_config(self, members)},
        {place.sshd_config, sshd_config(self)},
        {place.hostfile, hostfile(members)},
        {place.hydra_hostfile, hydra_hostfile(members)},
        {place.wcoll, wcoll(members)},
        {place.user_name, account.name},
        {place.members, wire::dump(nlohmann::json(members))},
        {place.node_record, wire::dump(nlohmann::json(self))},
    };
    for (const auto& [path, text] : files) {
        if (auto written = replace_file(path, text, 0644); !written) {
            return written;
        }
    }
    for (const auto& step :
         {write_environment(self, members, account), write_hosts(self, members), link_deepspeed_hostfile()}) {
        if (!step) {
            return step;
        }
    }
    return ok;
}

} // namespace dockdist::node
