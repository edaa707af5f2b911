#include "client/cli/context.hpp"

#include "client/cli/host_lists.hpp"
#include "client/cli/proxies.hpp"
#include "client/cli/reach_hosts.hpp"
#include "client/cluster/lock.hpp"
#include "client/engine/docker_engine.hpp"
#include "client/job/select_nodes.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/origin.hpp"
#include "client/report/error_text.hpp"
#include "client/report/output.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

// What the file may say and this version does not do: said before any host is touched.
Errors not_done_yet(const ClusterSpec& spec) {
    Errors errors;
    if (spec.container.entrypoint == ContainerSpec::Entrypoint::image) {
        errors.push_back({ErrorKind::config, spec.file.string(),
                          "`container.entrypoint: image` is not supported yet",
                          "leave it out, and set in `container.env` what that entrypoint would set"});
    }
    return errors;
}

// Hosts that are written out and reached by srun are of the allocation that this process is in.
std::string allocation_of(const ClusterSpec& spec) {
    const bool by_srun =
        std::ranges::any_of(spec.hosts, [](const HostSpec& host) { return host.docker.by_srun(); });
    return spec.slurm_job.empty() && by_srun ? client_environment("SLURM_JOB_ID").value_or("")
                                             : spec.slurm_job;
}

Result<std::set<NodeName>> names_meant(const ClusterSpec& spec, const std::vector<NodeWords>& named) {
    std::set<NodeName> nodes;
    for (const auto& words : named) {
        const auto found = find_named(spec, words);
        TRY(found);
        for (const auto& one : *found) {
            nodes.insert(one.name);
        }
    }
    return nodes;
}

// The hosts of the nodes that `named` means (empty: of all), without those that `excluded` means.
Result<std::vector<bool>> hosts_of(const ClusterSpec& spec, const std::vector<NodeWords>& named,
                                   const std::vector<NodeWords>& excluded) {
    const auto wanted = names_meant(spec, named);
    const auto out = names_meant(spec, excluded);
    if (!wanted || !out) {
        return wanted ? out.error() : wanted.error();
    }
    std::vector<bool> hosts(spec.hosts.size(), false);
    for (const auto& node : expand_nodes(spec)) {
        hosts[node.host] =
            hosts[node.host] || ((named.empty() || wanted->contains(node.name)) && !out->contains(node.name));
    }
    return hosts;
}

Task<Connected> connect_hosts(const Context& context, Secrets secrets, const std::vector<NodeWords>& named,
                              const std::vector<NodeWords>& excluded) {
    auto loaded = co_await load(context, secrets);
    Connected connected{.spec = std::move(loaded.spec), .errors = std::move(loaded.errors)};
    if (connected.errors.empty()) {
        connected.errors = not_done_yet(connected.spec);
    }
    if (connected.errors.empty() && !(named.empty() && excluded.empty())) {
        auto only = hosts_of(connected.spec, named, excluded);
        connected.errors = only ? Errors{} : Errors{only.error()};
        connected.only = only ? std::move(*only) : std::vector<bool>{};
    }
    if (!connected.errors.empty()) {
        co_return connected;
    }
    auto reached = co_await reach_hosts(context, connected.spec, connected.only);
    connected.errors = std::move(reached.errors);
    if (!connected.errors.empty()) {
        co_return connected;
    }
    for (std::size_t i = 0; i < reached.endpoints.size(); ++i) {
        connected.engines.push_back(
            connected.only.empty() || connected.only[i]
                ? make_docker_engine(context.executor, std::move(reached.endpoints[i]))
                : nullptr);
    }
    co_return connected;
}

} // namespace

std::optional<std::string> client_environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void Context::print(std::string_view text) const {
    FdSink().write(STDOUT_FILENO, Displayable::text(text));
}

void Context::tell(std::string_view lines) const {
    const auto text = laid_out(std::string(lines), output());
    FdSink().write(STDOUT_FILENO, Displayable::text(text));
}

void Context::show(std::string_view drawn) const {
    FdSink().write(STDOUT_FILENO, output().colour ? Displayable::drawn(drawn) : Displayable::text(drawn));
}

OutputTraits Context::output() const {
    return probe_output(STDOUT_FILENO);
}

void Context::print_json(nlohmann::json value) const {
    if (value.is_object()) {
        value["schema"] = output_schema;
    }
    print_foreign_json(value);
}

void Context::print_foreign_json(const nlohmann::json& value) const {
    const auto line = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    FdSink().write(STDOUT_FILENO, Displayable::json(line));
}

void Context::print_csv(std::string_view lines) const {
    FdSink().write(STDOUT_FILENO, Displayable::drawn(lines)); // its lines end with a carriage return
}

int Context::fail(const Errors& errors) const {
    tell_errors(*reporter, errors, *size);
    const bool wrong_input = std::ranges::any_of(errors, [](const Error& error) {
        return error.kind == ErrorKind::usage || error.kind == ErrorKind::config;
    });
    return wrong_input ? exit_codes::wrong_input : exit_codes::failed;
}

int Context::fail(const Error& error) const {
    return fail(Errors{error});
}

void Context::warn(const Errors& warnings) const {
    tell_warnings(*reporter, warnings, *size);
}

std::size_t Context::table_rows(bool all) const {
    constexpr std::size_t of_no_terminal = 20;
    constexpr std::size_t beside = 4; // the titles, the line of the command, the next prompt
    if (all) {
        return std::numeric_limits<std::size_t>::max();
    }
    return probe_output(STDOUT_FILENO).tty ? std::max(terminal_size(STDOUT_FILENO).rows, 2 * beside) - beside
                                           : of_no_terminal;
}

std::string hosts_of(const GlobalOptions& options) {
    return options.hosts.empty() ? client_environment("DOCKDIST_HOSTS").value_or("") : options.hosts;
}

Task<Loaded> load(const Context& context, Secrets secrets) {
    const auto file = read_file_of(context.options);
    if (!file) {
        co_return Loaded{.errors = {file.error()}};
    }
    LoadOptions options{.resolve_secrets = secrets == Secrets::resolve || secrets == Secrets::all,
                        .resolve_build_secrets = secrets == Secrets::of_build || secrets == Secrets::all,
                        .hosts = hosts_of(context.options),
                        .host_lists = *context.host_lists};
    auto loaded = load_spec(file->text, file->file, client_environment, options);
    if (loaded.errors.empty() &&
        !loaded.sources.empty()) { // what else is wrong is told before anything is run
        context.host_lists->merge(co_await read_host_lists(context.executor, loaded.sources, *file));
        options.host_lists = *context.host_lists;
        loaded = load_spec(file->text, file->file, client_environment, options);
    }
    *context.size = {.hosts = loaded.spec.hosts.size(), .nodes = expand_nodes(loaded.spec).size()};
    context.warn(loaded.warnings);
    if (options.resolve_secrets && loaded.errors.empty()) {
        for (auto& [name, value] : own_proxies(context, loaded.spec)) {
            loaded.spec.container.secrets.push_back({.name = name, .value = value});
        }
    }
    co_return Loaded{.spec = std::move(loaded.spec), .errors = std::move(loaded.errors)};
}

LoadedSpec load_without_lists(const Context& context) {
    const auto file = read_file_of(context.options);
    if (!file) {
        return {.errors = {file.error()}};
    }
    return load_spec(file->text, file->file, client_environment,
                     {.resolve_secrets = false, .hosts = hosts_of(context.options)});
}

bool names_slurm(const LoadedSpec& loaded) {
    return std::ranges::any_of(
        loaded.sources, [](const HostSource& source) { return source.format == HostSource::Format::slurm; });
}

std::string user_and_machine() {
    const auto us = this_process();
    return us.user + "@" + us.machine;
}

std::string origin_of(const ClusterSpec& spec) {
    std::error_code ignored;
    const auto file = std::filesystem::weakly_canonical(spec.file, ignored).string();
    const auto job = allocation_of(spec);
    return job.empty() ? user_and_machine() + ":" + file
                       : labels::allocation_origin(this_process().user, job, file);
}

void add_former_name(CLI::App& command, const std::string& former, const std::string& now,
                     std::vector<std::string>& values, Program& program) {
    command
        .add_option_function<std::vector<std::string>>(
            former,
            [&values, &program, former, now](const std::vector<std::string>& given) {
                values.insert(values.end(), given.begin(), given.end());
                program.remarks.push_back({ErrorKind::usage, former, "it is called " + now + " now", ""});
            })
        ->type_name("NODES")
        ->group("")
        ->allow_extra_args(false);
}

namespace {

std::optional<Error> judge_origin_of(const ClusterSpec& spec, const ObservedCluster& there) {
    const auto own = origin_of(spec);
    for (const auto& host : there.hosts) {
        for (const auto& node : host.nodes) {
            if (auto error = of_another_file_here(spec.name, node.labels, own)) {
                return error;
            }
        }
    }
    return std::nullopt;
}

} // namespace

Task<Connected> connect(const Context& context, Secrets secrets) {
    co_return co_await connect_hosts(context, secrets, {}, {});
}

Task<Attached> attach_to_cluster(Context& context, AttachOptions options) {
    auto connected = co_await connect_hosts(context, options.secrets, options.named, options.excluded);
    Attached attached{.spec = std::move(connected.spec),
                      .engines = std::move(connected.engines),
                      .errors = std::move(connected.errors)};
    if (attached.errors.empty() && options.judge) {
        if (const auto judged = options.judge(attached.spec); !judged) {
            attached.errors.push_back(judged.error());
        }
    }
    if (!attached.errors.empty()) {
        co_return attached;
    }
    QuietReporter quiet(*context.reporter);
    auto observation = co_await observe(attached.spec, attached.engines, {}, quiet, connected.only);
    attached.errors = std::move(observation.errors);
    if (!options.looks && !context.options.take_over) {
        if (auto another = judge_origin_of(attached.spec, observation.cluster)) {
            attached.errors = {std::move(*another)};
            co_return attached;
        }
    }
    auto ready = ready_nodes(attached.spec, observation.cluster, observation.reached, options.words);
    attached.nodes = std::move(ready.nodes);
    std::ranges::move(ready.errors, std::back_inserter(attached.errors));
    attached.observed = std::move(observation.cluster);
    attached.reached = std::move(observation.reached);
    std::size_t not_asked = 0; // of which nobody has said that they are missing
    for (std::size_t i = 0; i < connected.only.size(); ++i) {
        not_asked += connected.only[i] ? 0U : static_cast<std::size_t>(attached.spec.hosts[i].nodes);
    }
    if (!attached.nodes.empty() &&
        enough_nodes(attached.spec, attached.nodes.size() + not_asked, options.keep_going)) {
        warn_of_missing(context, std::exchange(attached.errors, {}));
    }
    co_return attached;
}

void warn_of_missing(const Context& context, Errors errors) {
    for (auto& error : errors) {
        if (error.kind == ErrorKind::unreachable || error.kind == ErrorKind::timeout) {
            error.hint.clear();
        }
    }
    context.warn(errors);
}

std::function<Task<Result<RegistryAuth>>()> registry_auth_of(const Context& context, const ImageRef& image) {
    return [executor = context.executor, image] {
        return find_registry_auth(executor, image, {.environment = client_environment});
    };
}

Result<ReadyNode> one_node(const Attached& cluster, const NodeWords& words) {
    auto nodes = named_nodes(cluster.spec, cluster.nodes, words);
    TRY(nodes);
    if (nodes->size() > 1) {
        return Error{
            ErrorKind::usage, words.option,
            fmt::format("`{}` is {} nodes, and one is wanted here", printable(words.text), nodes->size()),
            "name one of them: " + nodes->front().name.str() +
                "; for a command on all of them: `dockdist run --launcher plain --nodes " +
                shell_quote(words.text) + " -- COMMAND`"};
    }
    return std::move(nodes->front());
}

Errors why_no_node(const Attached& cluster, const Error& of_node) {
    const bool of_words = of_node.kind == ErrorKind::usage && !cluster.engines.empty();
    return cluster.errors.empty() || of_words ? Errors{of_node} : cluster.errors;
}

} // namespace dockdist
