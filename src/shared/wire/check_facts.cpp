#include "shared/wire/check_facts.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/fields.hpp"

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 64; // of an interface, a node or an address: nothing of these is longer

void read_output(ObjectReader& reader, const char* key, std::string& output) {
    reader.read_bytes(key, output);
}

void check_question(ObjectReader& reader, const FactsQuestion& question) {
    for (const auto& program : question.programs) {
        if (program.name.empty() || program.argv.empty()) {
            reader.fail("programs: a program of the check has no name or no words");
        }
    }
    if (!question.mounts.empty() && !is_mount_token(question.token)) {
        reader.fail("an invalid token of the check");
    }
    for (const auto& folder : question.mounts) {
        if (!folder.starts_with('/')) {
            reader.fail("not a folder: " + printable(folder));
        }
    }
}

} // namespace

// A part that each side may fail at by itself.
template <class T>
json json_of(const Result<T>& part) {
    return partial_to_json(part);
}
template <class T>
void read_field(ObjectReader& reader, const char* key, Result<T>& part) {
    const auto* told = reader.any(key);
    part = told == nullptr
               ? Error{ErrorKind::protocol, "", std::string("the node said nothing about ") + key, ""}
               : read_partial<T>(*told, std::string("the node's answer about ") + key);
}

void fields_of(auto& fields, Of<SessionLimits> auto& limits) {
    fields.required("memlock", limits.memlock);
    fields("nofile", limits.nofile);
    fields("stack", limits.stack);
    fields("nproc", limits.nproc);
}
DEFINE_BY_FIELDS(SessionLimits)

void fields_of(auto& fields, Of<Room> auto& room) {
    fields("free", room.free.count);
    fields("size", room.size.count);
}
DEFINE_BY_FIELDS(Room)

void fields_of(auto& fields, Of<XidError> auto& xid) {
    fields("gpu", xid.gpu);
    fields("code", xid.code);
}
DEFINE_BY_FIELDS(XidError)

void fields_of(auto& fields, Of<SystemFacts> auto& system) {
    fields("machine", system.machine);
    fields("disk", nullable(system.disk));
    fields("shm", nullable(system.shm));
    fields("governors", system.governors);
    fields("rdma", read_by(system.rdma, read_rdma_ports));
    fields("rdma_inside", system.rdma_inside);
    fields("xids", system.xids);
    fields("jobs", system.jobs);
}
DEFINE_BY_FIELDS(SystemFacts)

void fields_of(auto& fields, Of<NetworkFacts::OtherWay> auto& way) {
    fields("interface", way.interface, longest_name);
    fields("node", way.node, longest_name);
    fields("nodes", way.nodes, 1, any_int);
}

void fields_of(auto& fields, Of<NetworkFacts> auto& network) {
    fields.required("interface", network.interface, longest_name);
    fields("there", network.there);
    fields.when(network.there, "up", network.up);
    fields.when(network.there, "loopback", network.loopback);
    fields.when(network.there, "bridge", network.bridge);
    fields.when(network.there, "address_there", network.address_there);
    fields.when(network.mtu > 0, "mtu", network.mtu);
    fields.omit_empty("tunnel", network.tunnel);
    fields.omit_empty("first_address", network.first_address, longest_name);
    fields.omit_empty("other_ways", network.other_ways, most_other_ways);
}
DEFINE_BY_FIELDS(NetworkFacts)

void fields_of(auto& fields, Of<NameFacts> auto& names) {
    fields("by", names.by);
    fields("hostname", names.hostname);
    fields("addresses", names.addresses);
}
DEFINE_BY_FIELDS(NameFacts)

void fields_of(auto& fields, Of<NcclLibrary> auto& nccl) {
    fields.omit_empty("version", nccl.version);
    fields.when(!nccl.version.empty(), "path", nccl.path);
}
DEFINE_BY_FIELDS(NcclLibrary)

void fields_of(auto& fields, Of<PeerLogin> auto& login) {
    fields.required("peer", login.peer);
    fields.required("ok", login.ok);
    fields("ms", login.ms);
    fields.when(!login.ok, "message", login.message);
}
DEFINE_BY_FIELDS(PeerLogin)

void fields_of(auto& fields, Of<ProgramOutput> auto& program) {
    fields.required("code", program.code);
    fields("output", read_by(program.output, read_output));
}
DEFINE_BY_FIELDS(ProgramOutput)

void fields_of(auto& fields, Of<NodeFacts> auto& facts) {
    fields("limits", facts.limits);
    fields("system", facts.system);
    fields("network", facts.network);
    fields("names", facts.names);
    fields("nccl", facts.nccl);
    fields("ssh", facts.logins);
    fields("programs", facts.programs);
    fields("mounts", facts.mounts);
}
DEFINE_BY_FIELDS(NodeFacts)

void fields_of(auto& fields, Of<FactsQuestion> auto& question) {
    fields("names", question.names);
    fields("peers", question.peers);
    fields("programs", question.programs);
    fields("mounts", question.mounts);
    fields("token", question.token);
    fields.reading([&](auto& reader) { check_question(reader, question); });
}
DEFINE_BY_FIELDS(FactsQuestion)

void fields_of(auto& fields, Of<LogInsQuestion> auto& question) {
    fields("peers", question.peers);
}
DEFINE_BY_FIELDS(LogInsQuestion)

void fields_of(auto& fields, Of<LogInsQuestion::Answer> auto& answer) {
    fields.required("logins", answer.logins);
}
DEFINE_BY_FIELDS(LogInsQuestion::Answer)

} // namespace dockdist::wire
