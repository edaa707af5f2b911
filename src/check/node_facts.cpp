#include "check/node_facts.hpp"

#include "wire/json_reader.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

using nlohmann::json;
using wire::ObjectReader;

// The part under `key`, or the error that stands in its place.
Result<const json*> part(const json& answer, const char* key) {
    const auto found = answer.find(key);
    if (found == answer.end()) {
        return Error{ErrorKind::protocol, "", std::string("the node said nothing about ") + key, ""};
    }
    if (found->is_object() && found->contains("error")) {
        const auto& error = (*found)["error"];
        if (!error.is_object()) {
            return Error{ErrorKind::protocol, "", std::string("an unknown error about ") + key, ""};
        }
        ObjectReader reader(error, "an error of the check");
        return wire::read_error(reader);
    }
    return &*found;
}

template <class T, class Read>
Result<T> read_part(const json& answer, const char* key, Read read) {
    const auto found = part(answer, key);
    if (!found) {
        return found.error();
    }
    if (!(*found)->is_object()) {
        return Error{ErrorKind::protocol, "", std::string("the node's answer about ") + key + " is no object",
                     ""};
    }
    T value;
    ObjectReader reader(**found, std::string("the node's answer about ") + key);
    read(reader, value);
    if (reader.failed()) {
        return reader.error();
    }
    return value;
}

std::optional<Room> read_room(ObjectReader& system, const char* key) {
    const auto* object = system.object(key);
    if (object == nullptr) {
        return std::nullopt;
    }
    std::int64_t free = 0;
    std::int64_t size = 0;
    ObjectReader reader(*object, "the room of a file system");
    reader.read("free", free);
    reader.read("size", size);
    if (reader.failed() || free < 0 || size < 0) {
        system.fail("the room of a file system is of another shape");
        return std::nullopt;
    }
    return Room{Bytes{static_cast<std::uint64_t>(free)}, Bytes{static_cast<std::uint64_t>(size)}};
}

template <class T, class Read>
void read_list(ObjectReader& reader, const char* key, std::vector<T>& out, Read read) {
    const auto* list = reader.array(key);
    if (list == nullptr) {
        return;
    }
    for (const auto& entry : *list) {
        if (!entry.is_object()) {
            reader.fail(std::string("an entry of ") + key + " is no object");
            return;
        }
        ObjectReader fields(entry, key);
        T value;
        read(fields, value);
        if (fields.failed()) {
            reader.fail(fields.error().message);
            return;
        }
        out.push_back(std::move(value));
    }
}

void read_system(ObjectReader& reader, SystemFacts& system) {
    system.disk = read_room(reader, "disk");
    system.shm = read_room(reader, "shm");
    if (const auto* governors = reader.object("governors")) {
        for (const auto& [name, count] : governors->items()) {
            if (!count.is_number_integer()) {
                reader.fail("a governor's count is no number");
                return;
            }
            system.governors[name] = count.get<int>();
        }
    }
    read_list(reader, "rdma", system.rdma, [](ObjectReader& fields, RdmaPort& port) {
        fields.read("device", port.device);
        fields.read("port", port.port);
        fields.read("state", port.state);
        fields.read("rate", port.rate);
        fields.read("link", port.link);
    });
    reader.read("rdma_inside", system.rdma_inside);
    std::vector<XidError> xids;
    const bool told = reader.array("xids") != nullptr;
    read_list(reader, "xids", xids, [](ObjectReader& fields, XidError& xid) {
        fields.read("gpu", xid.gpu);
        fields.read("code", xid.code);
    });
    if (told) {
        system.xids = std::move(xids);
    }
    reader.read_bytes("jobs", system.jobs);
}

// {NAME: {…}, …}
template <class T, class Read>
void read_each(const json& answer, const char* key, std::map<std::string, Result<T>>& out, Read read) {
    const auto found = answer.find(key);
    if (found == answer.end() || !found->is_object()) {
        return;
    }
    for (const auto& [name, value] : found->items()) {
        out.insert_or_assign(name, read_part<T>(*found, name.c_str(), read));
    }
}

Result<std::vector<PeerAnswer>> read_logins(const json& answer) {
    const auto found = part(answer, "ssh");
    return found ? parse_peers(**found) : Result<std::vector<PeerAnswer>>(found.error());
}

} // namespace

NodeFacts parse_facts(const json& answer) {
    NodeFacts facts;
    if (!answer.is_object()) {
        return parse_facts(json::object());
    }
    facts.limits =
        read_part<SessionLimits>(answer, "limits", [](ObjectReader& reader, SessionLimits& limits) {
            reader.require("memlock");
            reader.read("memlock", limits.memlock);
            reader.read("nofile", limits.nofile);
            reader.read("stack", limits.stack);
            reader.read("nproc", limits.nproc);
        });
    facts.system = read_part<SystemFacts>(answer, "system", read_system);
    facts.network =
        read_part<NetworkFacts>(answer, "network", [](ObjectReader& reader, NetworkFacts& network) {
            reader.require("interface");
            reader.read("interface", network.interface);
            reader.read("there", network.there);
            reader.read("up", network.up);
            reader.read("loopback", network.loopback);
            reader.read("bridge", network.bridge);
            reader.read("address_there", network.address_there);
            reader.read("mtu", network.mtu);
        });
    facts.names = read_part<NameFacts>(answer, "names", [](ObjectReader& reader, NameFacts& names) {
        reader.read("by", names.by);
        reader.read("hostname", names.hostname);
        if (const auto* addresses = reader.object("addresses")) {
            for (const auto& [name, unused] : addresses->items()) {
                ObjectReader fields(*addresses, "the addresses of a name");
                fields.read_bytes(name.c_str(), names.addresses[name]);
                if (fields.failed()) {
                    reader.fail(fields.error().message);
                }
            }
        }
    });
    facts.logins = read_logins(answer);
    if (const auto nccl = part(answer, "nccl"); nccl && (*nccl)->is_object()) {
        ObjectReader reader(**nccl, "the node's answer about nccl");
        reader.read("version", facts.nccl);
    }
    read_each(answer, "programs", facts.programs, [](ObjectReader& reader, ProgramOutput& program) {
        reader.require("code");
        reader.read("code", program.code);
        reader.read_bytes("output", program.output);
    });
    read_each(answer, "mounts", facts.mounts, [](ObjectReader& reader, MountFacts& mount) {
        reader.require("folder");
        reader.read("folder", mount.folder);
        reader.read("written", mount.written);
        reader.read("why", mount.why);
        reader.read("listing", mount.listing);
    });
    return facts;
}

std::map<std::string, std::vector<std::string>> parse_seen(const json& answer) {
    std::map<std::string, std::vector<std::string>> seen;
    const auto found = answer.is_object() ? answer.find("seen") : answer.end();
    if (found == answer.end() || !found->is_object()) {
        return seen;
    }
    for (const auto& [folder, nodes] : found->items()) {
        for (const auto& node : nodes.is_array() ? nodes : json::array()) {
            if (node.is_string()) {
                seen[folder].push_back(node.get<std::string>());
            }
        }
    }
    return seen;
}

} // namespace dockdist
