#include "shared/wire/check_facts.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

namespace dockdist::wire {
namespace {

using nlohmann::json;

// The parts of the answer, by their keys: the same list for writing and for reading.
template <class Facts, class Part>
void for_each_part(Facts& facts, Part part) {
    part("limits", facts.limits);
    part("system", facts.system);
    part("network", facts.network);
    part("names", facts.names);
    part("nccl", facts.nccl);
    part("ssh", facts.logins);
}

constexpr std::size_t longest_name = 64; // of an interface, a node or an address: nothing of these is longer

json room_to_json(const std::optional<Room>& room) {
    return room ? json(*room) : json(nullptr);
}

void read_room(ObjectReader& reader, const char* key, std::optional<Room>& room) {
    if (const auto* value = reader.any(key); value != nullptr && !value->is_null()) {
        read_object(reader, key, [&](ObjectReader& fields) { read_fields(fields, room.emplace()); });
    }
}

} // namespace

void to_json(json& out, const SessionLimits& limits) {
    out = {{"memlock", limits.memlock},
           {"nofile", limits.nofile},
           {"stack", limits.stack},
           {"nproc", limits.nproc}};
}

void read_fields(ObjectReader& reader, SessionLimits& limits) {
    reader.require("memlock");
    reader.read("memlock", limits.memlock);
    reader.read("nofile", limits.nofile);
    reader.read("stack", limits.stack);
    reader.read("nproc", limits.nproc);
}

void to_json(json& out, const Room& room) {
    out = {{"free", room.free.count}, {"size", room.size.count}};
}

void read_fields(ObjectReader& reader, Room& room) {
    reader.read("free", room.free.count);
    reader.read("size", room.size.count);
}

void to_json(json& out, const XidError& xid) {
    out = {{"gpu", xid.gpu}, {"code", xid.code}};
}

void read_fields(ObjectReader& reader, XidError& xid) {
    reader.read("gpu", xid.gpu);
    reader.read("code", xid.code);
}

void to_json(json& out, const SystemFacts& system) {
    out = {{"machine", system.machine},
           {"disk", room_to_json(system.disk)},
           {"shm", room_to_json(system.shm)},
           {"governors", system.governors},
           {"rdma", system.rdma},
           {"rdma_inside", system.rdma_inside},
           {"jobs", system.jobs}};
    if (system.xids) {
        out["xids"] = *system.xids;
    }
}

void read_fields(ObjectReader& reader, SystemFacts& system) {
    reader.read("machine", system.machine);
    read_room(reader, "disk", system.disk);
    read_room(reader, "shm", system.shm);
    if (const auto* governors = reader.object("governors")) {
        ObjectReader counts(*governors, "the CPUs of a governor");
        for (const auto& [name, unused] : governors->items()) {
            counts.read(name.c_str(), system.governors[name]);
        }
        if (counts.failed()) {
            reader.fail(counts.error().message);
        }
    }
    read_rdma_ports(reader, "rdma", system.rdma);
    reader.read("rdma_inside", system.rdma_inside);
    if (reader.array("xids") != nullptr) {
        system.xids.emplace();
    }
    read_objects(reader, "xids", [&](ObjectReader& xid) { read_fields(xid, system.xids->emplace_back()); });
    reader.read_bytes("jobs", system.jobs);
}

void to_json(json& out, const NetworkFacts& network) {
    out = {{"interface", network.interface}, {"there", network.there}};
    if (network.there) {
        out.update({{"up", network.up},
                    {"loopback", network.loopback},
                    {"bridge", network.bridge},
                    {"address_there", network.address_there}});
    }
    if (network.mtu > 0) {
        out["mtu"] = network.mtu;
    }
    if (network.tunnel) {
        out["tunnel"] = true;
    }
    if (!network.first_address.empty()) {
        out["first_address"] = network.first_address;
    }
    for (const auto& way : network.other_ways) {
        out["other_ways"].push_back({{"interface", way.interface}, {"node", way.node}, {"nodes", way.nodes}});
    }
}

void read_fields(ObjectReader& reader, NetworkFacts& network) {
    reader.require("interface");
    reader.read("interface", network.interface, longest_name);
    reader.read("there", network.there);
    reader.read("up", network.up);
    reader.read("loopback", network.loopback);
    reader.read("bridge", network.bridge);
    reader.read("address_there", network.address_there);
    reader.read("mtu", network.mtu);
    reader.read("tunnel", network.tunnel);
    reader.read("first_address", network.first_address, longest_name);
    read_objects(reader, "other_ways", [&](ObjectReader& way) {
        auto& one = network.other_ways.emplace_back();
        way.read("interface", one.interface, longest_name);
        way.read("node", one.node, longest_name);
        way.read("nodes", one.nodes, 1, std::numeric_limits<int>::max());
    });
    if (network.other_ways.size() > most_other_ways) {
        reader.fail("\"other_ways\" must have " + std::to_string(most_other_ways) + " entries at most");
    }
}

void to_json(json& out, const NameFacts& names) {
    out = {{"by", names.by}, {"hostname", names.hostname}, {"addresses", names.addresses}};
}

void read_fields(ObjectReader& reader, NameFacts& names) {
    reader.read("by", names.by);
    reader.read("hostname", names.hostname);
    if (const auto* addresses = reader.object("addresses")) {
        ObjectReader each(*addresses, "the addresses of a name");
        for (const auto& [name, unused] : addresses->items()) {
            each.read_bytes(name.c_str(), names.addresses[name]);
        }
        if (each.failed()) {
            reader.fail(each.error().message);
        }
    }
}

void to_json(json& out, const NcclLibrary& nccl) {
    out = json::object();
    if (!nccl.version.empty()) {
        out = {{"version", nccl.version}, {"path", nccl.path}};
    }
}

void read_fields(ObjectReader& reader, NcclLibrary& nccl) {
    reader.read("version", nccl.version);
    reader.read("path", nccl.path);
}

void to_json(json& out, const PeerLogin& login) {
    out = {{"peer", login.peer}, {"ok", login.ok}, {"ms", login.ms}};
    if (!login.ok) {
        out["message"] = login.message;
    }
}

void read_fields(ObjectReader& reader, PeerLogin& login) {
    reader.require("peer");
    reader.read("peer", login.peer);
    reader.require("ok");
    reader.read("ok", login.ok);
    reader.read("ms", login.ms);
    reader.read("message", login.message);
}

void to_json(json& out, const ProgramOutput& program) {
    out = {{"code", program.code}, {"output", program.output}};
}

void read_fields(ObjectReader& reader, ProgramOutput& program) {
    reader.require("code");
    reader.read("code", program.code);
    reader.read_bytes("output", program.output);
}

void to_json(json& out, const NodeFacts& facts) {
    out = {{"programs", partials_to_json(facts.programs)}, {"mounts", partials_to_json(facts.mounts)}};
    for_each_part(facts, [&out](const char* key, const auto& value) { out[key] = partial_to_json(value); });
}

void read_fields(ObjectReader& reader, NodeFacts& facts) {
    for_each_part(facts, [&reader]<class T>(const char* key, Result<T>& value) {
        const auto* told = reader.any(key);
        value = told == nullptr
                    ? Error{ErrorKind::protocol, "", std::string("the node said nothing about ") + key, ""}
                    : read_partial<T>(*told, std::string("the node's answer about ") + key);
    });
    read_partials(reader, "programs", facts.programs);
    read_partials(reader, "mounts", facts.mounts);
}

void to_json(json& out, const FactsQuestion& question) {
    out = {{"names", question.names},
           {"peers", question.peers},
           {"programs", question.programs},
           {"mounts", question.mounts},
           {"token", question.token}};
}

void read_fields(ObjectReader& reader, FactsQuestion& question) {
    reader.read_bytes("names", question.names);
    reader.read_bytes("peers", question.peers);
    reader.read_bytes("mounts", question.mounts);
    reader.read("token", question.token);
    read_objects(reader, "programs", [&](ObjectReader& fields) {
        auto& program = question.programs.emplace_back();
        read_fields(fields, program);
        if (program.name.empty() || program.argv.empty()) {
            fields.fail("a program of the check has no name or no words");
        }
    });
    if (!question.mounts.empty() && !is_mount_token(question.token)) {
        reader.fail("an invalid token of the check");
    }
    for (const auto& folder : question.mounts) {
        if (!folder.starts_with('/')) {
            reader.fail("not a folder: " + printable(folder));
        }
    }
}

void to_json(json& out, const LogInsQuestion& question) {
    out = {{"peers", question.peers}};
}

void read_fields(ObjectReader& reader, LogInsQuestion& question) {
    reader.read_bytes("peers", question.peers);
}

void to_json(json& out, const LogInsQuestion::Answer& answer) {
    out = {{"logins", answer.logins}};
}

void read_fields(ObjectReader& reader, LogInsQuestion::Answer& answer) {
    reader.require("logins");
    read_objects(reader, "logins",
                 [&](ObjectReader& login) { read_fields(login, answer.logins.emplace_back()); });
}

} // namespace dockdist::wire
