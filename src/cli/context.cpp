#include "cli/context.hpp"

#include "cli/reach_hosts.hpp"
#include "cluster/lock.hpp"
#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "engine/docker_engine.hpp"
#include "report/output.hpp"
#include "spec/load_spec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unistd.h>

namespace dockdist {
namespace {

// What the file may say and this version does not do: said before any host is touched.
Errors not_done_yet(const ClusterSpec& spec) {
    Errors errors;
    if (spec.container.entrypoint == ContainerSpec::Entrypoint::image) {
        errors.push_back({ErrorKind::config, spec.file.string(),
                          "`container.entrypoint: image` is not done yet",
                          "leave it out, and set in `container.env` what that entrypoint would set"});
    }
    return errors;
}

} // namespace

std::optional<std::string> client_environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void Context::print(std::string_view text) const {
    FdSink().write(STDOUT_FILENO, Displayable::text(text));
}

void Context::print_json(const nlohmann::json& value) const {
    const auto line = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    FdSink().write(STDOUT_FILENO, Displayable::json(line));
}

int Context::fail(const Errors& errors) const {
    bool wrong_input = false;
    for (const auto& error : errors) {
        reporter->error(error);
        wrong_input = wrong_input || error.kind == ErrorKind::usage || error.kind == ErrorKind::config;
    }
    return wrong_input ? exit_codes::wrong_input : exit_codes::failed;
}

int Context::fail(const Error& error) const {
    return fail(Errors{error});
}

Loaded load(const Context& context, Secrets secrets) {
    std::filesystem::path file = context.options.file;
    if (file.empty()) {
        if (const auto named = client_environment("DOCKDIST_FILE"); named && !named->empty()) {
            file = *named;
        } else {
            auto found = find_spec_file(std::filesystem::current_path());
            if (!found) {
                return {.errors = {found.error()}};
            }
            file = std::move(*found);
        }
    }
    auto loaded = load_spec_file(file, client_environment, {.resolve_secrets = secrets == Secrets::resolve});
    for (const auto& warning : loaded.warnings) {
        context.reporter->on(warning_event(warning));
    }
    return {.spec = std::move(loaded.spec), .errors = std::move(loaded.errors)};
}

std::string user_and_machine() {
    const auto us = this_process();
    return us.user + "@" + us.machine;
}

std::string origin_of(const ClusterSpec& spec) {
    std::error_code ignored;
    const auto file = std::filesystem::weakly_canonical(spec.file, ignored);
    return user_and_machine() + ":" + file.string();
}

Task<Connected> connect(const Context& context, Secrets secrets) {
    auto loaded = load(context, secrets);
    Connected connected{.spec = std::move(loaded.spec), .errors = std::move(loaded.errors)};
    if (connected.errors.empty()) {
        connected.errors = not_done_yet(connected.spec);
    }
    if (!connected.errors.empty()) {
        co_return connected;
    }
    auto reached = co_await reach_hosts(context, connected.spec);
    connected.errors = std::move(reached.errors);
    if (!connected.errors.empty()) {
        co_return connected;
    }
    for (auto& endpoint : reached.endpoints) {
        connected.engines.push_back(make_docker_engine(context.executor, std::move(endpoint)));
    }
    co_return connected;
}

Task<Attached> attach_to_cluster(Context& context, Secrets secrets) {
    auto connected = co_await connect(context, secrets);
    Attached attached{.spec = std::move(connected.spec),
                      .engines = std::move(connected.engines),
                      .errors = std::move(connected.errors)};
    if (!attached.errors.empty()) {
        co_return attached;
    }
    QuietReporter quiet(*context.reporter);
    auto observation = co_await observe(attached.spec, attached.engines, "", quiet);
    attached.errors = std::move(observation.errors);
    auto ready = ready_nodes(attached.spec, observation.cluster, observation.reached);
    attached.nodes = std::move(ready.nodes);
    std::ranges::move(ready.errors, std::back_inserter(attached.errors));
    attached.observed = std::move(observation.cluster);
    co_return attached;
}

std::function<Task<Result<RegistryAuth>>()> registry_auth_of(const Context& context, const ImageRef& image) {
    return [executor = context.executor, image] {
        return find_registry_auth(executor, image, {.environment = client_environment});
    };
}

Task<Result<std::string>> all_registry_auth(const Context& context) {
    return find_all_registry_auth(context.executor, {.environment = client_environment});
}

Result<ReadyNode> find_node(const std::vector<ReadyNode>& nodes, const std::string& name) {
    std::vector<std::string_view> names;
    for (const auto& node : nodes) {
        if (node.name.str() == name || std::to_string(node.record.rank) == name) {
            return node;
        }
        names.push_back(node.name.str());
    }
    const auto meant = nearest(name, names);
    return Error{ErrorKind::usage, "", "there is no node `" + printable(name) + "`",
                 meant.empty() ? fmt::format("nodes: {}", fmt::join(names, ", "))
                               : "did you mean `" + meant + "`?"};
}

} // namespace dockdist
