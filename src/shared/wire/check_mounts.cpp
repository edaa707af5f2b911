#include "shared/wire/check_mounts.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <cctype>

namespace dockdist::wire {

using nlohmann::json;

bool is_mount_token(std::string_view token) {
    return !token.empty() && token.size() <= 64 &&
           std::ranges::all_of(token, [](unsigned char c) { return std::isalnum(c) != 0; });
}

void to_json(json& out, const MountFacts& mount) {
    out = {{"folder", mount.folder}};
    if (mount.folder) {
        out["written"] = mount.written;
    }
    if (mount.folder && !mount.written) {
        out["why"] = mount.why;
        out["listing"] = mount.listing;
        if (!mount.source.empty()) {
            out["source"] = mount.source;
        }
    }
}

void read_fields(ObjectReader& reader, MountFacts& mount) {
    reader.require("folder");
    reader.read("folder", mount.folder);
    reader.read("written", mount.written);
    reader.read("why", mount.why);
    reader.read("listing", mount.listing);
    reader.read("source", mount.source);
}

void to_json(json& out, const LookForTokens& question) {
    out = {{"mounts", question.mounts}, {"token", question.token}, {"nodes", question.nodes}};
}

void read_fields(ObjectReader& reader, LookForTokens& question) {
    reader.read_bytes("mounts", question.mounts);
    reader.read_bytes("nodes", question.nodes);
    reader.read("token", question.token);
    if (!is_mount_token(question.token) || !std::ranges::all_of(question.nodes, is_plain_name)) {
        reader.fail("an invalid token of the check");
    }
}

void to_json(json& out, const LookForTokens::Answer& answer) {
    out = {{"seen", partials_to_json(answer.seen)}};
}

void read_fields(ObjectReader& reader, LookForTokens::Answer& answer) {
    reader.require("seen");
    read_partials(reader, "seen", answer.seen);
}

void to_json(json& out, const ForgetTokens&) {
    out = json::object();
}

void read_fields(ObjectReader&, ForgetTokens&) {}

void to_json(json& out, const ForgetTokens::Answer&) {
    out = json::object();
}

void read_fields(ObjectReader&, ForgetTokens::Answer&) {}

} // namespace dockdist::wire
