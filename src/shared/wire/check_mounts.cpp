#include "shared/wire/check_mounts.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/fields.hpp"

#include <algorithm>
#include <cctype>

namespace dockdist::wire {

bool is_mount_token(std::string_view token) {
    return !token.empty() && token.size() <= 64 &&
           std::ranges::all_of(token, [](unsigned char c) { return std::isalnum(c) != 0; });
}

void fields_of(auto& fields, Of<MountFacts> auto& mount) {
    const bool refused = mount.folder && !mount.written;
    fields.required("folder", mount.folder);
    fields.when(mount.folder, "written", mount.written);
    fields.when(refused, "why", mount.why);
    fields.when(refused, "listing", mount.listing);
    fields.when(refused && !mount.source.empty(), "source", mount.source);
}
DEFINE_BY_FIELDS(MountFacts)

void fields_of(auto& fields, Of<LookForTokens> auto& question) {
    fields("mounts", question.mounts);
    fields("token", question.token);
    fields("nodes", question.nodes);
    fields.check(is_mount_token(question.token) && std::ranges::all_of(question.nodes, is_plain_name),
                 "an invalid token of the check");
}
DEFINE_BY_FIELDS(LookForTokens)

void fields_of(auto& fields, Of<LookForTokens::Answer> auto& answer) {
    fields.required("seen", answer.seen);
}
DEFINE_BY_FIELDS(LookForTokens::Answer)

void fields_of(auto& /*fields*/, Of<ForgetTokens> auto& /*question*/) {}
DEFINE_BY_FIELDS(ForgetTokens)

void fields_of(auto& /*fields*/, Of<ForgetTokens::Answer> auto& /*answer*/) {}
DEFINE_BY_FIELDS(ForgetTokens::Answer)

} // namespace dockdist::wire
