#include "node/boot/node_state.hpp"

#include "node/boot/node_files.hpp"
#include "node/session/proxies.hpp"
#include "node/system/account_folders.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/roots_way.hpp"
#include "shared/core/text.hpp"
#include "shared/keys/ssh_key.hpp"
#include "shared/wire/json_reader.hpp"

#include <cerrno>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

// Podman mounts a file of its own over what the image has where that names no root.
Status replace_account_file(const std::string& path, const std::string& content, mode_t mode, Owner owner) {
    return mounted_at(path).root.empty() ? replace_file(path, content, mode, owner)
                                         : write_in_place(path, content);
}

// Who somebody is sshd and jobs read there: an image in which others than root write them (for a runtime that
// has the container do so) would give root away.
void keep_accounts_to_root(const UserMounts& mounts) {
    for (const auto& path : {paths().passwd, paths().group, paths().shadow}) {
        struct stat status{};
        if (::stat(path.c_str(), &status) == 0 && !mounts.hold(path) && !only_root_changes(status, {})) {
            (void)::chown(path.c_str(), 0, static_cast<gid_t>(-1));
            (void)::chmod(path.c_str(), status.st_mode & 07755U);
        }
    }
}

Status update_passwd(const std::string& before, const std::string& after, const UserMounts& mounts) {
    const auto& path = paths().passwd;
    if (before == after) {
        return ok;
    }
    if (mounts.hold(path)) {
        return Error{
            .kind = ErrorKind::config,
            .message =
                path + " is mounted into the container, and lacks an entry that sshd or container.user needs",
            .hint = std::string("leave that mount out, or give the file entries for sshd, root and "
                                "container.user, with a shell that the image has") +
                    never_written};
    }
    return replace_account_file(path, after, 0644, {});
}

Status update_shadow(const Account& account, const UserMounts& mounts) {
    const auto& path = paths().shadow;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        return ok;
    }
    const auto before = read_file_or_empty(path);
    const auto after = mend_shadow(before, account.name);
    if (before == after) {
        return ok;
    }
    if (mounts.hold(path)) {
        return Error{.kind = ErrorKind::config,
                     .message = path + " is mounted into the container, and locks the account " +
                                account.name + " or lets it expire: sshd lets nobody in as it",
                     .hint = std::string("leave that mount out, which nodes don't need, or give the account "
                                         "`*` for a password and no dates") +
                             never_written};
    }
    return replace_account_file(path, after, status.st_mode & 07777U, {status.st_uid, status.st_gid});
}

// With it sshd would let in nobody but root, and say what stands there: of a machine that is going down, or
// of an image that was made of one. A node is neither.
Status remove_nologin(const Account& account, const UserMounts& mounts) {
    const auto path = under_root("/etc/nologin");
    struct stat status{};
    if (account.uid == 0 || ::lstat(path.c_str(), &status) != 0) {
        return ok;
    }
    if (mounts.hold(path)) {
        return Error{.kind = ErrorKind::config,
                     .message = path +
                                " is mounted into the container: while it is there sshd lets in nobody "
                                "but root, and so not " +
                                account.name,
                     .hint =
                         std::string("leave that mount out, or remove the file on the host") + never_written};
    }
    return ::unlink(path.c_str()) == 0 ? Status(ok) : system_error("cannot remove " + path, errno);
}

Result<std::string> public_key(const std::string& path, const std::string& public_path, const Owner& owner) {
    if (::access(path.c_str(), F_OK) != 0) {
        const auto made = make_ssh_key();
        TRY(replace_file(public_path, made.public_line + "\n", 0644));
        TRY(replace_file(path, made.private_file, 0600, owner));
    }
    const auto text = read_file(public_path, 4096);
    TRY(text);
    auto fields = split(text->substr(0, text->find('\n')), ' ');
    fields.resize(2);
    return fields[0] + " " + fields[1];
}

// root reads it, and so do jobs and sessions of container.user; nobody else does, as it may hold tokens.
Status write_environment(const wire::NodeRecord& self, const wire::Members& members, const Account& account,
                         const UserMounts& mounts) {
    const auto block = read_file(paths().container_environment);
    TRY(block);
    auto environment = Environment::from_block(*block);
    for (const auto& [name, value] : node_variables(self, members)) {
        environment.set_default(name, value);
    }
    spare_peers(environment, [&members] { return peers_of(members); });
    const auto profile = paths().profile_folder + "/zz-dockdist.sh";
    if (is_folder(paths().profile_folder) && !mounts.hold(profile)) {
        const auto script = profile_script(environment.get("PATH").value_or(default_path));
        if (auto written = replace_file(profile, script, 0644); !written) {
            return written;
        }
    }
    return replace_file(paths().environment, environment.block(), 0640, {0, account.gid});
}

constexpr std::size_t most_left = 256;

std::string left_file() {
    return paths().run + "/left.json";
}

// Who was a member before, and is not: `down` tells of their containers, which nobody may have removed.
std::string left_members(const wire::Members& members) {
    std::set<std::string> here;
    for (const auto& node : members.nodes) {
        here.insert(node.node);
    }
    wire::Members left{.cluster = members.cluster};
    for (const auto& path : {paths().members, left_file()}) {
        const auto before = wire::parse_members(read_file_or_empty(path));
        for (const auto& node : before ? before->nodes : std::vector<wire::NodeRecord>()) {
            if (left.nodes.size() < most_left && here.insert(node.node).second) {
                left.nodes.push_back(node);
            }
        }
    }
    return wire::members_list(left);
}

Status write_hosts(const wire::NodeRecord& self, const wire::Members& members, const UserMounts& mounts) {
    const auto& path = paths().hosts;
    if (mounts.hold(path)) {
        return ok;
    }
    const auto before = read_file_or_empty(path);
    const auto after = mend_hosts(before, self, members);
    return before == after ? Status(ok) : write_in_place(path, after);
}

// DeepSpeed looks at /job/hostfile when it is given none, which `run --launcher deepspeed` never leaves it
// to.
void link_deepspeed_hostfile(const UserMounts& mounts) {
    const auto folder = under_root("/job");
    const auto link = folder + "/hostfile";
    if (mounts.hold(link) || read_link(link) == paths().hostfile ||
        (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)) {
        return;
    }
    (void)::chmod(folder.c_str(), 0755);
    (void)::symlink(paths().hostfile.c_str(), link.c_str());
}

} // namespace

Result<Account> prepare_account(const std::string& user, const UserMounts& mounts) {
    const auto& place = paths();
    keep_accounts_to_root(mounts);
    const auto passwd = read_file_or_empty(place.passwd);
    auto account = find_account(user, passwd, read_file_or_empty(place.group));
    TRY(account);
    const auto mended = mend_passwd(passwd, *account, place.own, is_executable);
    TRY(update_passwd(passwd, mended, mounts));
    TRY(update_shadow(*account, mounts));
    TRY(remove_nologin(*account, mounts));
    // A home in a place where none can be made is not a reason to fail: sessions then begin in /.
    if (!is_folder(account->home) && !mounts.hold(account->home)) {
        make_home_folder(*account);
    }
    return account;
}

Result<std::string> make_host_key() {
    TRY(make_folder(paths().private_folder, 0700));
    return public_key(paths().host_key, paths().host_public_key, {});
}

Result<std::string> make_user_key(const Account& account) {
    const Owner user{account.uid, account.gid};
    TRY(make_folder(paths().user_folder, 0700, user));
    return public_key(paths().user_key, paths().user_public_key, user);
}

Status let_giver_in(const std::string& cluster, const wire::NodeRecord& giver) {
    const wire::Members one{.cluster = cluster, .nodes = {giver}};
    if (auto checked = check_members(one); !checked) {
        return checked;
    }
    const auto before = read_file_or_empty(paths().authorized_keys);
    const auto line = authorized_keys(one);
    return before.find(line) != std::string::npos
               ? Status(ok)
               : replace_file(paths().authorized_keys, before + line, 0644);
}

Status write_state(const wire::NodeRecord& self, const wire::Members& members, const std::string& list,
                   const Account& account, const UserMounts& mounts) {
    if (auto checked = check_members(members); !checked) {
        return checked;
    }
    const auto& place = paths();
    const std::pair<std::string, std::string> files[] = {
        {place.authorized_keys, authorized_keys(members)},
        {place.known_hosts, known_hosts(members)},
        {place.ssh_config, ssh_config(self, members)},
        {place.hostfile, hostfile(members)},
        {place.hydra_hostfile, hydra_hostfile(members)},
        {place.wcoll, wcoll(members)},
        {place.user_name, account.name},
        {left_file(), left_members(members)}, // while the list before this one is there
        {place.members, list},
        {place.node_record, wire::dump(nlohmann::json(self))},
    };
    for (const auto& [path, text] : files) {
        if (auto written = replace_file(path, text, 0644); !written) {
            return written;
        }
    }
    for (const auto& step :
         {write_environment(self, members, account, mounts), write_hosts(self, members, mounts)}) {
        if (!step) {
            return step;
        }
    }
    link_deepspeed_hostfile(mounts);
    return ok;
}

int tell_members() {
    const auto text = read_file_or_empty(paths().members) + "\n" + read_file_or_empty(left_file()) + "\n";
    return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

} // namespace dockdist::node
