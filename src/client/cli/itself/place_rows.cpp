#include "client/async/child_process.hpp"
#include "client/cli/itself/own_rows.hpp"
#include "client/engine/docker_context.hpp"
#include "client/engine/local_engine.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace dockdist {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using OwnState = CheckRow::State;

constexpr std::chrono::seconds ssh_limit{5};
constexpr std::size_t most_named = 16;
constexpr std::array proxy_variables{"http_proxy", "https_proxy", "all_proxy", "no_proxy",
                                     "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"};
// What tells of an allocation and holds no secret, unlike much else that Slurm hands on.
constexpr std::array slurm_variables{"SLURM_JOB_ID",       "SLURM_JOB_NODELIST",  "SLURM_JOB_NUM_NODES",
                                     "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION", "SLURM_STEP_ID",
                                     "SLURM_GPUS_ON_NODE", "SLURM_CONF"};
constexpr std::array dockdist_variables{"DOCKDIST_FILE", "DOCKDIST_HOSTS"};

std::string without_user(std::string_view address) {
    const auto scheme = address.find("://");
    const auto begin = scheme == std::string_view::npos ? 0 : scheme + 3;
    const auto path = std::min(address.find_first_of("/?#", begin), address.size());
    // A password may hold any of these signs unescaped, whatever the standards say: then all that could be
    // one.
    const auto at = address.rfind('@');
    if (at == std::string_view::npos || at < begin) {
        return std::string(address.substr(0, std::min(address.find('?'), address.size())));
    }
    const auto user = address.substr(begin, at - begin);
    const bool keeps = address.starts_with("ssh") && user.find_first_of(":/?#") == std::string_view::npos;
    const auto rest = at < path ? address.substr(at, path - at) : address.substr(at);
    return fmt::format("{}{}{}", address.substr(0, begin), keeps ? user : "***",
                       rest.substr(0, std::min(rest.find('?'), rest.size())));
}

// "NAME=VALUE; NAME=VALUE" of those that are set. A password in the address of a proxy may hold the signs
// that stand between those of a list.
template <std::size_t count>
std::string set_variables(const std::array<const char*, count>& names) {
    std::string text;
    for (const std::string_view name : names) {
        if (const auto value = client_environment(std::string(name)); value && !value->empty()) {
            const bool one = name.ends_with("_proxy") || name.ends_with("_PROXY");
            text += fmt::format("{}{}={}", text.empty() ? "" : "; ", name,
                                printable(one ? without_user(*value) : without_secrets(*value)));
        }
    }
    return text;
}

CheckRow cluster_file_row(const Context& context) {
    CheckRow row{.check = "cluster"};
    const auto file = file_of(context.options);
    std::error_code ignored;
    if (!file) {
        row.text = "no cluster.yaml here or above, and DOCKDIST_FILE is not set";
    } else if (const auto read = read_chosen(*file); !read) {
        row.state = OwnState::warn;
        row.text = fmt::format("{}: {}", read.error().where, read.error().message);
        row.hint = "--file and DOCKDIST_FILE name another one";
    } else {
        row.text = printable(fs::weakly_canonical(file->path, ignored).string());
    }
    if (const auto set = set_variables(dockdist_variables); !set.empty()) {
        row.text += " (" + set + ")";
    }
    return row;
}

std::optional<json> read_json(const fs::path& path) {
    const auto text = read_regular_file(path);
    auto document = json::parse(text.value_or(""), nullptr, false);
    return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

// Of logins their number alone, and which programs keep them.
CheckRow docker_row(const fs::path& folder) {
    const auto path = folder / "config.json";
    CheckRow row{.check = "docker", .text = printable(path.string())};
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        row.text += " is not there: no registries' logins";
        return row;
    }
    const auto document = read_json(path);
    if (!document) {
        row.state = OwnState::warn;
        row.text += " cannot be read, or is not JSON";
        row.hint = "registry logins and the current context are kept there: `docker login` writes it";
        return row;
    }
    const auto count = [&](const char* key) {
        const auto found = document->find(key);
        return found != document->end() && found->is_object() ? found->size() : 0;
    };
    row.text += fmt::format(": {} logins, {} credential helpers", count("auths"), count("credHelpers"));
    if (const auto store = document->find("credsStore"); store != document->end() && store->is_string()) {
        row.text += ", credsStore " + printable(store->get<std::string>());
    }
    return row;
}

CheckRow contexts_row(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder / "contexts/meta", ignored)) {
        const auto meta = read_json(entry.path() / "meta.json");
        if (meta && meta->contains("Name") && (*meta)["Name"].is_string()) {
            names.push_back(printable((*meta)["Name"].get<std::string>()));
        }
    }
    std::ranges::sort(names);
    names.resize(std::min(names.size(), most_named));
    const auto current = current_docker_context(client_environment);
    CheckRow row{.check = "contexts",
                 .text = fmt::format("current: {}{}{}", printable(current),
                                     names.empty() ? "" : "; there are ", fmt::join(names, ", "))};
    const auto loaded = load_docker_context(current, client_environment);
    if (!loaded) {
        row.state = OwnState::warn;
        row.text += ": " + loaded.error().message;
        row.hint = loaded.error().hint;
    } else {
        row.text += ": " + printable(without_user(loaded->address.url));
    }
    return row;
}

CheckRow engine_row() {
    const auto engine = find_local_engine(client_environment, connect_to_socket);
    CheckRow row{.check = "engine"};
    if (!engine.denied.empty()) {
        row.text = fmt::format("{} may not be used by this user", engine.denied);
        row.hint = "only for `init --local` and `image.from: local`: the group `docker` may use it";
        row.state = OwnState::warn;
    } else if (!engine.found) {
        row.text = "none answers on this machine, which only `init --local` and `image.from: local` need";
    } else {
        row.text = fmt::format(
            "{} ({})",
            printable(engine.context.empty() ? without_user(engine.url) : "the context " + engine.context),
            engine.said_by);
    }
    return row;
}

Task<CheckRow> ssh_row(boost::asio::any_io_executor executor) {
    CheckRow row{.check = "ssh"};
    const auto answer = co_await run_and_read(executor, {"ssh", "-V"}, ssh_limit);
    if (!answer) {
        row.state = OwnState::warn;
        row.text = answer.error().kind == ErrorKind::not_found ? "there is no ssh"
                                                               : printable(answer.error().message);
        row.hint = "hosts at ssh:// are reached without your ssh configuration: "
                   "install OpenSSH's client";
        co_return row;
    }
    row.text = printable(answer->complaint.empty() ? answer->output : answer->complaint);
    const auto surroundings = ssh_surroundings();
    std::error_code ignored;
    for (const auto* name : {"config", "known_hosts"}) {
        const auto path = surroundings.home + "/.ssh/" + name;
        row.text += fmt::format("; {}{}", printable(path), fs::exists(path, ignored) ? "" : " is not there");
    }
    const auto agent = client_environment("SSH_AUTH_SOCK").value_or("");
    const int why = agent.empty() ? 0 : connect_to_socket(agent);
    row.text += agent.empty() ? "; no agent" : why == 0 ? "; an agent" : "; an agent that does not answer";
    if (why != 0) {
        row.state = OwnState::warn;
        row.hint = fmt::format("SSH_AUTH_SOCK names {}: {}", printable(agent), std::strerror(why));
    }
    co_return row;
}

} // namespace

std::string without_secrets(std::string_view addresses) {
    std::string text;
    for (std::size_t at = 0; at < addresses.size();) {
        const auto end = std::min(addresses.find_first_of(", \t\n", at), addresses.size());
        text += without_user(addresses.substr(at, end - at));
        const auto next = std::min(addresses.find_first_not_of(", \t\n", end), addresses.size());
        text += addresses.substr(end, next - end);
        at = next;
    }
    return text;
}

Task<std::vector<CheckRow>> place_rows(const Context& context) {
    const auto named = client_environment("DOCKER_CONFIG").value_or("");
    const fs::path folder =
        named.empty() ? fs::path(client_environment("HOME").value_or("")) / ".docker" : fs::path(named);
    std::vector<CheckRow> rows{cluster_file_row(context), docker_row(folder), contexts_row(folder),
                               engine_row()};
    rows.push_back(co_await ssh_row(context.executor));
    const auto proxies = set_variables(proxy_variables);
    rows.push_back({.check = "proxies",
                    .text = proxies.empty()
                                ? "none in the environment"
                                : proxies + " (dockdist uses none of them: it connects "
                                            "to engines directly, and they pull through their own)"});
    const auto slurm = set_variables(slurm_variables);
    rows.push_back({.check = "slurm", .text = slurm.empty() ? "not in an allocation" : slurm});
    co_return rows;
}

} // namespace dockdist
