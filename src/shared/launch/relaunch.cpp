#include "shared/launch/relaunch.hpp"

#include "shared/core/random.hpp"
#include "shared/launch/diagnosis_env.hpp"
#include "shared/launch/launcher_names.hpp"
#include "shared/wire/fields.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

using nlohmann::json;

json port_numbers(const std::vector<Port>& ports) {
    json numbers = json::array();
    for (const auto port : ports) {
        numbers.push_back(port.number);
    }
    return numbers;
}

void read_ports(wire::ObjectReader& reader, const char* key, std::vector<Port>& ports) {
    std::vector<int> numbers;
    wire::read_field(reader, key, numbers, 1, wire::highest_port, "port numbers");
    for (const auto number : numbers) {
        ports.push_back(Port{static_cast<std::uint16_t>(number)});
    }
}

void read_role_counts(wire::ObjectReader& reader, const char* key, Roles& roles) {
    wire::read_field(reader, key, roles);
    for (const auto& [role, count] : roles) {
        if (count < 0 || count > most_of_a_role) {
            return reader.fail("\"roles\" must be numbers of processes");
        }
    }
}

// A NodeName or a JobId.
auto name_text(auto& name) {
    return wire::by(
        name, [](const auto& known) { return known.str(); },
        [](wire::ObjectReader& reader, const char* key, auto& out) {
            std::string text;
            reader.read(key, text);
            out = std::remove_reference_t<decltype(out)>(text);
        });
}

struct Relaunch {
    std::string launcher{};
    LaunchRequest request{};
};

} // namespace

void fields_of(auto& fields, wire::Of<LaunchNode> auto& node) {
    fields("name", name_text(node.name));
    fields("address", node.address);
    fields("interface", node.interface);
    fields("slots", node.slots);
    fields("gpus", node.gpus);
    fields("versions", wire::bytes_of(node.versions));
    fields("ports", wire::by(node.ports, port_numbers, read_ports));
}

// The ports are those of its first node, and the secret is a new one each time.
void fields_of(auto& fields, wire::Of<LaunchRequest> auto& request) {
    fields("job", name_text(request.job));
    fields("command", wire::bytes_of(request.command));
    fields("ranks_per_node", request.ranks_per_node);
    fields("per_rank", request.per_rank);
    fields("roles", wire::read_by(request.roles, read_role_counts));
    fields("via", request.via);
    fields("options", wire::bytes_of(request.options));
    fields("nodes", request.nodes);
}

namespace {

void fields_of(auto& fields, wire::Of<Relaunch> auto& relaunch) {
    fields.required("launcher", relaunch.launcher);
    fields.all_of(relaunch.request);
}

} // namespace

std::string relaunch_text(const Launcher& launcher, const LaunchRequest& request) {
    return wire::text_of(Relaunch{std::string(launcher.name), request});
}

std::vector<wire::JobStart> starts_of(wire::JobPolicy policy, std::vector<NodeLaunch> launches) {
    for (auto& part : policy.parts) {
        part.hosts_remote_ranks = true;
        part.ranks = 0;
    }
    std::vector<wire::JobStart> starts(policy.parts.size());
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const auto place = static_cast<std::size_t>(policy.members[i]);
        policy.parts[place].hosts_remote_ranks = launches[i].hosts_remote_ranks;
        policy.parts[place].ranks = launches[i].ranks;
        starts[place] = std::move(launches[i].start);
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
        starts[i].policy = policy;
        starts[i].part = static_cast<int>(i);
        starts[i].stays = true;
    }
    return starts;
}

Result<std::vector<wire::JobStart>> relaunch(const wire::JobPolicy& policy) {
    return relaunch_with(policy, random_hex(secret_digits));
}

Result<std::vector<wire::JobStart>> relaunch_with(const wire::JobPolicy& policy, std::string secret) {
    auto read = wire::parse<Relaunch>(policy.relaunch, "the job's launch");
    TRY(read);
    const auto launcher = find_launcher(read->launcher);
    TRY(launcher);
    auto& request = read->request;
    request.secret = std::move(secret);
    const auto all = std::move(request.nodes);
    request.nodes.clear();
    for (const auto part : policy.members) {
        if (part < 0 || static_cast<std::size_t>(part) >= all.size()) {
            return Error{.kind = ErrorKind::protocol, .message = "the job's launch has too few nodes"};
        }
        request.nodes.push_back(all[static_cast<std::size_t>(part)]);
    }
    if (request.nodes.empty()) {
        return Error{.kind = ErrorKind::protocol, .message = "the job has no node left"};
    }
    request.ports = request.nodes.front().ports;
    if (request.ports.size() < static_cast<std::size_t>(ports_of(*launcher, request))) {
        return Error{.kind = ErrorKind::protocol,
                     .where = request.nodes.front().name.str(),
                     .message = "no port is reserved there for the launcher"};
    }
    auto launches = launch_job(*launcher, request);
    TRY(launches);
    return starts_of(policy, std::move(*launches));
}

} // namespace dockdist
