#include "shared/wire/join.hpp"

#include "shared/core/fnv1a.hpp"
#include "shared/core/subnet.hpp"
#include "shared/wire/job_result.hpp"
#include "shared/wire/job_usage.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr int most_nodes = 1 << 20;
constexpr int longest_patience_ms = 24 * 3600 * 1000;

void read_record(ObjectReader& reader, NodeRecord& record) {
    reader.require("node");
    reader.read("node", record.node);
    reader.read("rank", record.rank);
    reader.read("address", record.address);
    reader.read("interface", record.interface);
    reader.read("asked", record.asked, longest_asked);
    reader.read("hostname", record.hostname);
    reader.read("host", record.host, longest_host_mark);
    reader.read("ssh_port", record.ssh_port);
    reader.read("slots", record.slots);
    reader.read("gpus", record.gpus);
    reader.read("user", record.user);
    reader.read("user_key", record.user_key);
    reader.read("host_key", record.host_key);
    read_object(reader, "rdma", [&](ObjectReader& rdma) { read_fields(rdma, record.rdma); });
    reader.read("settings", record.settings, longest_settings);
    reader.read("clock_ms", record.clock_ms);
}

void read_settings(ObjectReader& reader, NodeSettings& settings) {
    reader.read_bytes("env", settings.env);
    reader.read_bytes("unset", settings.unset);
    reader.read_bytes("workdir", settings.workdir);
    read_object(reader, "history",
                [&](ObjectReader& history) { read_history_limits(history, settings.history); });
    if (!are_variables(settings.env)) {
        reader.fail("\"env\" has a name or a value that no variable can have");
    }
    const auto& folder = settings.workdir;
    if (has_nul(folder) || !(folder.empty() || folder.starts_with('/'))) {
        reader.fail("\"workdir\" must be an absolute path");
    }
}

void require_version(const json& object, ObjectReader& reader) {
    int theirs = 0;
    reader.require("version");
    reader.read("version", theirs);
    if (!reader.failed() && object.contains("version") && theirs != version) {
        reader.fail("it speaks version " + std::to_string(theirs) + " of the protocol, this side version " +
                    std::to_string(version));
    }
}

std::string typed_line(const char* type, json object) {
    object["type"] = type;
    return dump(object) + "\n";
}

} // namespace

std::string members_hash(const Members& members) {
    json hashed = members;
    for (auto& node : hashed["nodes"]) {
        node.erase("clock_ms");
    }
    const auto hash = fnv1a(dump(hashed));
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (unsigned shift = 64; shift > 0; shift -= 4) {
        text += digits[hash >> (shift - 4) & 0xFU];
    }
    return text;
}

void to_json(json& out, const JoinRequest& request) {
    out = json{{"version", version},
               {"cluster", request.cluster},
               {"node", request.node},
               {"rank", request.rank},
               {"address", request.address},
               {"interface", request.interface},
               {"subnets", request.subnets},
               {"derived", request.derived},
               {"asked", request.asked},
               {"ssh_port", request.ssh_port},
               {"slots", request.slots},
               {"user", request.user},
               {"mounts", json::array()},
               {"rdma", request.rdma},
               {"settings", request.settings},
               {"nodes", request.nodes},
               {"nodes_beside", request.nodes_beside},
               {"ready_timeout_ms", request.ready_timeout_ms}};
    for (const auto& target : request.mounts) {
        out["mounts"].push_back(bytes_to_json(target));
    }
}

void to_json(json& out, const NodeRecord& record) {
    out = json{{"node", record.node},           {"rank", record.rank},         {"address", record.address},
               {"interface", record.interface}, {"hostname", record.hostname}, {"host", record.host},
               {"ssh_port", record.ssh_port},   {"slots", record.slots},       {"gpus", record.gpus},
               {"user", record.user},           {"user_key", record.user_key}, {"host_key", record.host_key},
               {"clock_ms", record.clock_ms}};
    if (!record.asked.empty()) {
        out["asked"] = record.asked;
    }
    if (record.rdma != RdmaRecord{}) {
        out["rdma"] = record.rdma;
    }
    if (!record.settings.empty()) {
        out["settings"] = record.settings;
    }
}

void to_json(json& out, const Members& members) {
    out = json{{"cluster", members.cluster}, {"nodes", members.nodes}};
}

Result<JoinRequest> parse_join_request(std::string_view text) {
    const auto object = parse_object(text, "the join request");
    TRY(object);
    JoinRequest request;
    ObjectReader reader(*object, "the join request");
    require_version(*object, reader);
    reader.require("cluster");
    reader.require("node");
    reader.read("cluster", request.cluster);
    reader.read("node", request.node);
    reader.read("rank", request.rank);
    reader.read("address", request.address);
    reader.read("interface", request.interface);
    reader.read_bytes("subnets", request.subnets);
    reader.read("derived", request.derived);
    reader.read("asked", request.asked, longest_asked);
    reader.read("ssh_port", request.ssh_port);
    reader.read("slots", request.slots);
    reader.read("user", request.user);
    reader.read_bytes("mounts", request.mounts);
    reader.read("rdma", request.rdma);
    reader.read("settings", request.settings, longest_settings);
    reader.read("nodes", request.nodes, 1, most_nodes);
    reader.read("nodes_beside", request.nodes_beside, 1, most_nodes);
    reader.read("ready_timeout_ms", request.ready_timeout_ms);
    if (!is_rdma_use(request.rdma)) {
        reader.fail("\"rdma\" must be auto, required or off");
    }
    if (request.ssh_port < 0 || request.ssh_port > 65535) {
        reader.fail("\"ssh_port\" must be between 0 and 65535");
    }
    if (request.subnets.size() > most_subnets || !std::ranges::all_of(request.subnets, [](const auto& text) {
            return read_subnet(text).has_value();
        })) {
        reader.fail("\"subnets\" must be networks in CIDR form, " + std::to_string(most_subnets) +
                    " at most");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return request;
}

Result<MembersNotice> parse_members_notice(std::string_view line) {
    const auto object = parse_object(line, "the notice of members");
    TRY(object);
    MembersNotice notice;
    ObjectReader reader(*object, "the notice of members");
    reader.require("sha256");
    reader.read("sha256", notice.sha256);
    reader.read("first", notice.first, 1, most_nodes);
    reader.read("patience_ms", notice.patience_ms, 0, longest_patience_ms);
    read_object(reader, "giver", [&](ObjectReader& giver) { read_record(giver, notice.giver.emplace()); });
    read_object(reader, "settings",
                [&](ObjectReader& settings) { read_settings(settings, notice.settings); });
    if (reader.failed()) {
        return reader.error();
    }
    return notice;
}

Result<Members> parse_members(std::string_view list) {
    const auto object = parse_object(list, "the list of members");
    TRY(object);
    Members members;
    ObjectReader reader(*object, "the list of members");
    reader.read("cluster", members.cluster);
    reader.require("nodes");
    if (const auto* nodes = reader.array("nodes")) {
        for (const auto& node : *nodes) {
            const auto what = "member " + std::to_string(members.nodes.size());
            ObjectReader member(node, what);
            if (!node.is_object()) {
                member.fail("it must be an object");
            } else {
                read_record(member, members.nodes.emplace_back());
            }
            if (member.failed()) {
                return member.error();
            }
        }
    }
    if (reader.failed()) {
        return reader.error();
    }
    return members;
}

Result<JoinMessage> parse_join_message(std::string_view line) {
    const auto object = parse_object(line, "a line from the node");
    TRY(object);
    JoinMessage message;
    ObjectReader reader(*object, "a line from the node");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    if (type == "hello") {
        message.type = JoinMessage::Type::hello;
        require_version(*object, reader);
        read_record(reader, message.record);
    } else if (type == "ready") {
        message.type = JoinMessage::Type::ready;
        reader.read("members_hash", message.members_hash);
        if (object->contains("node")) {
            read_record(reader, message.record);
        }
    } else if (type == "want") {
        message.type = JoinMessage::Type::want;
    } else if (type == "error") {
        message.type = JoinMessage::Type::error;
        message.error = read_error(reader);
        read_objects(reader, "unreached", [&](ObjectReader& peer) {
            auto& unreached = message.unreached.emplace_back();
            peer.read("node", unreached.node);
            peer.read("cause", unreached.cause);
        });
    }
    if (reader.failed()) {
        return reader.error();
    }
    return message;
}

std::string hello_line(const NodeRecord& record) {
    json object = record;
    object["version"] = version;
    return typed_line("hello", std::move(object));
}

std::string members_notice_line(const MembersNotice& notice) {
    json object{{"sha256", notice.sha256}, {"first", notice.first}, {"patience_ms", notice.patience_ms}};
    if (notice.giver) {
        object["giver"] = *notice.giver;
    }
    if (notice.settings != NodeSettings{}) {
        object["settings"] = {{"env", bytes_object(notice.settings.env)},
                              {"unset", bytes_array(notice.settings.unset)},
                              {"workdir", bytes_to_json(notice.settings.workdir)},
                              {"history", notice.settings.history}};
    }
    return typed_line("members", std::move(object));
}

std::string members_list(const Members& members) {
    return dump(members);
}

std::string want_line() {
    return typed_line("want", json::object());
}

std::string ready_line() {
    return typed_line("ready", json::object());
}

std::string error_line(const Error& error, const std::vector<Unreached>& unreached) {
    auto object = error_to_json(error);
    for (const auto& peer : unreached) {
        object["unreached"].push_back({{"node", peer.node}, {"cause", peer.cause}});
    }
    return typed_line("error", std::move(object));
}

std::string ready_record_line(const NodeRecord& record, const std::string& members_hash) {
    json object = record;
    object["members_hash"] = members_hash;
    return typed_line("ready", std::move(object));
}

} // namespace dockdist::wire
