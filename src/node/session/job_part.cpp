#include "node/session/job_part.hpp"

#include "node/session/proxies.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/wire/fields.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/tree.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::string part_file(const std::string& job) {
    return scratch_folder(job) + "/part.json";
}

// Orders for a job may come over a link that ends as its user: what root writes for them stays in the job's
// scratch.
Status write_files(const std::map<std::string, std::string>& files, const std::string& scratch, Owner owner) {
    for (const auto& [path, content] : files) {
        if (!path.starts_with(scratch + "/") || !wire::is_tree_name(path.substr(scratch.size() + 1))) {
            return Error{.kind = ErrorKind::node,
                         .message = "a job's file at " + printable(path) + " is refused",
                         .hint = "a job's own files are below " + scratch};
        }
        const auto folder = path.substr(0, path.rfind('/'));
        if (!is_folder(folder)) {
            if (auto made = make_folders(folder, 0755); !made) {
                return made;
            }
        }
        if (auto written = replace_file(path, content, 0600, owner); !written) {
            return written;
        }
    }
    return ok;
}

} // namespace

void fields_of(auto& fields, wire::Of<JobPart> auto& part) {
    fields("env", wire::bytes_of(part.env));
    fields("env_defaults", wire::bytes_of(part.env_defaults));
    fields("secrets", wire::bytes_of(part.secrets));
    fields("rank_secrets", part.rank_secrets);
    fields("unset", wire::bytes_of(part.unset));
    fields("workdir", wire::bytes_of(part.workdir));
    fields("grace_ms", part.grace_ms, 0, wire::any_count);
    fields("units", part.units);
    fields("threads", part.threads);
    fields("gpus", wire::bytes_of(part.gpus));
    fields("rank_command", wire::bytes_of(part.rank_command));
    fields("local_rank_at", part.local_rank_at);
    fields("local_rank_option", wire::bytes_of(part.local_rank_option));
    fields("rank_env", wire::env_objects(part.rank_env));
}

std::string scratch_folder(const std::string& job) {
    return under_root(wire::job_scratch(job).c_str());
}

Status make_scratch(const JobPart& part, const std::map<std::string, std::string>& files,
                    const Account& account) {
    const Owner user{account.uid, account.gid};
    const auto folder = scratch_folder(part.job);
    (void)remove_tree(folder); // of a job whose record was removed by hand
    if (auto made = make_folder(folder, 0700, {::geteuid(), ::getegid()}); !made) {
        return made;
    }
    if (auto written = replace_file(part_file(part.job), wire::text_of(part), 0400, user); !written) {
        return written;
    }
    if (auto written = write_files(files, folder, user); !written) {
        return written;
    }
    return make_folder(folder, 0700, user);
}

bool remove_scratch(const std::string& job, std::size_t most) {
    return remove_tree(scratch_folder(job), most);
}

Result<JobPart> load_part(const std::string& job) {
    if (!wire::is_job_id(job)) {
        return Error{.kind = ErrorKind::usage, .message = "that is not a job's name"};
    }
    const auto text = read_file(part_file(job));
    if (!text) {
        return Error{.kind = ErrorKind::not_found, .message = text.error().message};
    }
    auto part = wire::parse<JobPart>(*text, "the job's part");
    TRY(part);
    part->job = job;
    return part;
}

void apply_part(Environment& environment, const JobPart& part, bool for_rank) {
    auto variables = part.env;
    if (for_rank || !part.rank_secrets) {
        for (const auto& [name, value] : part.secrets) {
            variables[name] = value;
        }
    }
    for (const auto& [name, value] : variables) {
        environment.set(name, value);
    }
    for (const auto& name : part.unset) {
        environment.unset(name);
    }
    spare_peers(environment, known_peers);
    if (const auto path = environment.get("PATH")) {
        environment.set("PATH", with_toolkit_first(*path));
    }
    // By UUID, so that it does not matter how CUDA orders them; the same for all ranks of the node:
    // LOCAL_RANK is an index into it, and NCCL reaches the other ranks' GPUs directly only where it sees
    // them.
    if (!part.gpus.empty()) {
        environment.set(devices_variable_for(part.gpus), part.gpus);
    }
    environment.set(wire::job_mark, part.job);
    environment.unset(job_environment_variable);
    if (const auto packed = pack_variables(variables, part.unset)) {
        environment.set(job_environment_variable, *packed);
    }
}

Environment job_environment(Environment container, const JobPart& part, const Account& account) {
    apply_account(container, account);
    apply_part(container, part);
    return container;
}

} // namespace dockdist::node
