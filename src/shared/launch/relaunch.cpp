#include "shared/launch/relaunch.hpp"

#include "shared/core/random.hpp"
#include "shared/launch/diagnosis_env.hpp"
#include "shared/launch/launcher_names.hpp"
#include "shared/wire/json_reader.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

using nlohmann::json;

json words_to_json(const std::vector<std::string>& words) {
    json array = json::array();
    for (const auto& word : words) {
        array.push_back(wire::bytes_to_json(word));
    }
    return array;
}

json to_json(const LaunchNode& node) {
    json ports = json::array();
    for (const auto port : node.ports) {
        ports.push_back(port.number);
    }
    json versions = json::object();
    for (const auto& [tool, version] : node.versions) {
        versions[tool] = wire::bytes_to_json(version);
    }
    return {{"name", node.name.str()},  {"address", node.address}, {"interface", node.interface},
            {"slots", node.slots},      {"gpus", node.gpus},       {"versions", std::move(versions)},
            {"ports", std::move(ports)}};
}

LaunchNode read_node(const json& object, wire::ObjectReader& problems) {
    LaunchNode node;
    wire::ObjectReader reader(object, "a node");
    std::string name;
    reader.read("name", name);
    node.name = NodeName(name);
    reader.read("address", node.address);
    reader.read("interface", node.interface);
    reader.read("slots", node.slots);
    reader.read("gpus", node.gpus);
    reader.read_bytes("versions", node.versions);
    if (const auto* ports = reader.array("ports")) {
        for (const auto& port : *ports) {
            if (!port.is_number_integer() || port < 1 || port > 65535) {
                reader.fail("\"ports\" must be an array of port numbers");
                break;
            }
            node.ports.push_back(Port{port.get<std::uint16_t>()});
        }
    }
    if (reader.failed()) {
        problems.fail(reader.error().message);
    }
    return node;
}

void take_roles(const json& object, wire::ObjectReader& reader, Roles& roles) {
    const auto found = object.find("roles");
    if (found == object.end()) {
        return;
    }
    for (const auto& [role, count] : found->items()) {
        if (!count.is_number_integer() || count < 0 || count > most_of_a_role) {
            reader.fail("\"roles\" must be numbers of processes");
            return;
        }
        roles[role] = count.get<int>();
    }
}

struct Relaunch {
    std::string launcher{};
    LaunchRequest request{};
};

Result<Relaunch> parse(const std::string& text) {
    const auto object = wire::parse_object(text, "the job's launch");
    TRY(object);
    Relaunch read;
    auto& request = read.request;
    wire::ObjectReader reader(*object, "the job's launch");
    reader.require("launcher");
    reader.read("launcher", read.launcher);
    std::string job;
    reader.read("job", job);
    request.job = JobId(job);
    reader.read_bytes("command", request.command);
    if (object->contains("ranks_per_node")) {
        reader.read("ranks_per_node", request.ranks_per_node.emplace());
    }
    reader.read("per_rank", request.per_rank);
    take_roles(*object, reader, request.roles);
    reader.read("via", request.via);
    reader.read_bytes("options", request.options);
    if (const auto* nodes = reader.array("nodes")) {
        for (const auto& node : *nodes) {
            if (!node.is_object()) {
                reader.fail("\"nodes\" must be an array of objects");
                break;
            }
            request.nodes.push_back(read_node(node, reader));
        }
    }
    if (reader.failed()) {
        return reader.error();
    }
    return read;
}

} // namespace

std::string relaunch_text(const Launcher& launcher, const LaunchRequest& request) {
    json object{{"launcher", launcher.name},
                {"job", request.job.str()},
                {"command", words_to_json(request.command)},
                {"per_rank", request.per_rank},
                {"roles", request.roles},
                {"via", request.via},
                {"options", words_to_json(request.options)},
                {"nodes", json::array()}};
    if (request.ranks_per_node) {
        object["ranks_per_node"] = *request.ranks_per_node;
    }
    for (const auto& node : request.nodes) {
        object["nodes"].push_back(to_json(node));
    }
    return wire::dump(object);
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
    auto read = parse(policy.relaunch);
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
