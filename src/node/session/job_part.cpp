#include "node/session/job_part.hpp"

#include "node/session/proxies.hpp"
#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/tree.hpp"

#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::string part_file(const std::string& job) {
    return scratch_folder(job) + "/part.json";
}

std::string part_text(const JobPart& part) {
    nlohmann::json object{{"env", nlohmann::json::object()},
                          {"env_defaults", nlohmann::json::object()},
                          {"secrets", nlohmann::json::object()},
                          {"rank_secrets", part.rank_secrets},
                          {"unset", nlohmann::json::array()},
                          {"workdir", wire::bytes_to_json(part.workdir)},
                          {"grace_ms", part.grace_ms},
                          {"units", part.units},
                          {"threads", part.threads},
                          {"gpus", wire::bytes_to_json(part.gpus)},
                          {"rank_command", nlohmann::json::array()},
                          {"local_rank_at", part.local_rank_at},
                          {"local_rank_option", wire::bytes_to_json(part.local_rank_option)},
                          {"rank_env", nlohmann::json::array()}};
    for (const auto& env : part.rank_env) {
        auto& variables = object["rank_env"].emplace_back()["env"] = nlohmann::json::object();
        for (const auto& [name, value] : env) {
            variables[name] = wire::bytes_to_json(value);
        }
    }
    for (const auto& [name, value] : part.env) {
        object["env"][name] = wire::bytes_to_json(value);
    }
    for (const auto& [name, value] : part.env_defaults) {
        object["env_defaults"][name] = wire::bytes_to_json(value);
    }
    for (const auto& [name, value] : part.secrets) {
        object["secrets"][name] = wire::bytes_to_json(value);
    }
    for (const auto& name : part.unset) {
        object["unset"].push_back(wire::bytes_to_json(name));
    }
    for (const auto& word : part.rank_command) {
        object["rank_command"].push_back(wire::bytes_to_json(word));
    }
    return wire::dump(object);
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
    if (auto written = replace_file(part_file(part.job), part_text(part), 0400, user); !written) {
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
    const auto object = wire::parse_object(*text, "the job's part");
    TRY(object);
    JobPart part{.job = job};
    wire::ObjectReader reader(*object, "the job's part");
    reader.read_bytes("env", part.env);
    reader.read_bytes("env_defaults", part.env_defaults);
    reader.read_bytes("secrets", part.secrets);
    reader.read("rank_secrets", part.rank_secrets);
    reader.read_bytes("unset", part.unset);
    reader.read_bytes("workdir", part.workdir);
    reader.read("grace_ms", part.grace_ms, 0, std::numeric_limits<std::int64_t>::max());
    reader.read("units", part.units);
    reader.read("threads", part.threads);
    reader.read_bytes("gpus", part.gpus);
    reader.read_bytes("rank_command", part.rank_command);
    reader.read("local_rank_at", part.local_rank_at);
    reader.read_bytes("local_rank_option", part.local_rank_option);
    wire::read_objects(reader, "rank_env", [&](wire::ObjectReader& rank) {
        rank.read_bytes("env", part.rank_env.emplace_back());
    });
    if (reader.failed()) {
        return reader.error();
    }
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
