#include "shared/wire/join.hpp"

#include "shared/core/fnv1a.hpp"
#include "shared/core/subnet.hpp"
#include "shared/wire/job_result.hpp"
#include "shared/wire/job_usage.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr int most_nodes = 1 << 20;
constexpr int longest_patience_ms = 24 * 3600 * 1000;

constexpr Words<JoinMessage::Type, 4> message_types{{{JoinMessage::Type::hello, "hello"},
                                                     {JoinMessage::Type::want, "want"},
                                                     {JoinMessage::Type::ready, "ready"},
                                                     {JoinMessage::Type::error, "error"}}};

void read_version(ObjectReader& reader) {
    int theirs = 0;
    reader.require("version");
    reader.read("version", theirs);
    if (!reader.failed() && theirs != version) {
        reader.fail("it speaks version " + std::to_string(theirs) + " of the protocol, this side version " +
                    std::to_string(version));
    }
}

void read_history(ObjectReader& reader, const char* key, HistoryLimits& limits) {
    read_object(reader, key, [&](ObjectReader& object) { read_history_limits(object, limits); });
}

bool are_subnets(const std::vector<std::string>& texts) {
    return texts.size() <= most_subnets &&
           std::ranges::all_of(texts, [](const auto& text) { return read_subnet(text).has_value(); });
}

bool is_folder(const std::string& path) {
    return !has_nul(path) && (path.empty() || path.starts_with('/'));
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

void protocol_version(auto& fields) {
    fields.writing([](auto& out) { out["version"] = version; });
    fields.reading([](auto& reader) { read_version(reader); });
}

void fields_of(auto& fields, Of<JoinRequest> auto& request) {
    protocol_version(fields);
    fields.required("cluster", request.cluster);
    fields.required("node", request.node);
    fields("rank", request.rank);
    fields("address", request.address);
    fields("interface", request.interface);
    fields("subnets", request.subnets);
    fields("derived", request.derived);
    fields("asked", request.asked, longest_asked);
    fields("ssh_port", request.ssh_port, 0, highest_port);
    fields("slots", request.slots);
    fields("user", request.user);
    fields("mounts", bytes_of(request.mounts));
    fields("rdma", request.rdma);
    fields("settings", request.settings, longest_settings);
    fields("nodes", request.nodes, 1, most_nodes);
    fields("nodes_beside", request.nodes_beside, 1, most_nodes);
    fields("ready_timeout_ms", request.ready_timeout_ms);
    fields.check(is_rdma_use(request.rdma), "\"rdma\" must be auto, required or off");
    static_assert(most_subnets == 64);
    fields.check(are_subnets(request.subnets), "\"subnets\" must be networks in CIDR form, 64 at most");
}

void to_json(json& out, const JoinRequest& request) {
    out = listed_object(request);
}

Result<JoinRequest> parse_join_request(std::string_view text) {
    return parse<JoinRequest>(text, "the join request");
}

void fields_of(auto& fields, Of<NodeRecord> auto& record) {
    fields.required("node", record.node);
    fields("rank", record.rank);
    fields("address", record.address);
    fields("interface", record.interface);
    fields.omit_empty("asked", record.asked, longest_asked);
    fields("hostname", record.hostname);
    fields("host", record.host, longest_host_mark);
    fields("ssh_port", record.ssh_port);
    fields("slots", record.slots);
    fields("gpus", record.gpus);
    fields("user", record.user);
    fields("user_key", record.user_key);
    fields("host_key", record.host_key);
    fields.omit_empty("rdma", record.rdma);
    fields.omit_empty("settings", record.settings, longest_settings);
    fields("clock_ms", record.clock_ms);
}

void to_json(json& out, const NodeRecord& record) {
    out = listed_object(record);
}

void fields_of(auto& fields, Of<NodeSettings> auto& settings) {
    fields("env", bytes_of(settings.env));
    fields("unset", bytes_of(settings.unset));
    fields("workdir", bytes_of(settings.workdir));
    fields("history", read_by(settings.history, read_history));
    fields.check(are_variables(settings.env), "\"env\" has a name or a value that no variable can have");
    fields.check(is_folder(settings.workdir), "\"workdir\" must be an absolute path");
}

void fields_of(auto& fields, Of<MembersNotice> auto& notice) {
    fields.constant("type", "members");
    fields.required("sha256", notice.sha256);
    fields("first", notice.first, 1, most_nodes);
    fields("patience_ms", notice.patience_ms, 0, longest_patience_ms);
    fields("giver", notice.giver);
    fields.omit_empty("settings", notice.settings);
}

std::string members_notice_line(const MembersNotice& notice) {
    return line_of(notice);
}

Result<MembersNotice> parse_members_notice(std::string_view line) {
    return parse<MembersNotice>(line, "the notice of members");
}

void to_json(json& out, const Members& members) {
    out = json{{"cluster", members.cluster}, {"nodes", members.nodes}};
}

std::string members_list(const Members& members) {
    return dump(members);
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
                read_listed(member, members.nodes.emplace_back());
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

void fields_of(auto& fields, Of<Unreached> auto& peer) {
    fields("node", peer.node);
    fields("cause", peer.cause);
}

// A line of another type is no error: a log holds others, too.
Result<JoinMessage> parse_join_message(std::string_view line) {
    const auto object = parse_object(line, "a line from the node");
    TRY(object);
    JoinMessage message;
    ObjectReader reader(*object, "a line from the node");
    reader.require("type");
    read_field(reader, "type", named_if_known(message.type, message_types));
    if (message.type == JoinMessage::Type::hello) {
        read_version(reader);
        read_listed(reader, message.record);
    } else if (message.type == JoinMessage::Type::ready) {
        reader.read("members_hash", message.members_hash);
        if (object->contains("node")) {
            read_listed(reader, message.record);
        }
    } else if (message.type == JoinMessage::Type::error) {
        message.error = read_error(reader);
        read_field(reader, "unreached", message.unreached);
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

std::string want_line() {
    return typed_line("want", json::object());
}

std::string ready_line() {
    return typed_line("ready", json::object());
}

std::string error_line(const Error& error, const std::vector<Unreached>& unreached) {
    auto object = error_to_json(error);
    if (!unreached.empty()) {
        object["unreached"] = json_of(unreached);
    }
    return typed_line("error", std::move(object));
}

std::string ready_record_line(const NodeRecord& record, const std::string& members_hash) {
    json object = record;
    object["members_hash"] = members_hash;
    return typed_line("ready", std::move(object));
}

} // namespace dockdist::wire
