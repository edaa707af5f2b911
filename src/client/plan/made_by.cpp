#include "client/plan/made_by.hpp"

#include "client/plan/labels.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/version.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace dockdist {
namespace {

constexpr std::size_t longest_release = 32; // anybody who may make containers there writes labels
constexpr int most_versions = 1'000'000;
constexpr const char* release_of_unlabelled = "0.1";

std::string name_of_dockdist(const MadeBy& node) {
    return node.release.empty() ? "another dockdist" : "dockdist " + node.release;
}

} // namespace

MadeBy made_by(const Labels& labels) {
    MadeBy by{.release = release_of_unlabelled, .wire = wire::version_of_unlabelled};
    if (const auto told = labels.find(labels::release); told != labels.end()) {
        by.release = printable(told->second.substr(0, longest_release));
    }
    if (const auto told = labels.find(labels::wire); told != labels.end()) {
        const auto version = whole_number<int>(told->second).value_or(0);
        by.wire = version > 0 && version <= most_versions ? version : 0;
    }
    return by;
}

Understanding understanding_of(const MadeBy& node) {
    const int apart = std::abs(node.wire - wire::version);
    return apart == 0                                   ? Understanding::all
           : apart > wire::most_apart || node.wire <= 0 ? Understanding::nothing
                                                        : Understanding::of_jobs;
}

std::string other_words(const MadeBy& node) {
    return fmt::format(
        "it is of {} and speaks {} of the protocol, this dockdist version {}", name_of_dockdist(node),
        node.wire == 0 ? "an unknown version" : fmt::format("version {}", node.wire), wire::version);
}

std::string bring_to_this_version(const MadeBy& node) {
    const bool newer = node.wire > wire::version;
    return fmt::format("{}`dockdist up` recreates it with this version; until then {}",
                       newer ? "use the dockdist that made it, or " : "",
                       understanding_of(node) == Understanding::of_jobs
                           ? "status, jobs, logs, attach, wait, stop and down work"
                           : "only status and down work");
}

std::string made_by_another(const MadeBy& node, const std::string& release) {
    if (node.release == release) {
        return "another build of dockdist made it";
    }
    return release.empty() || node.release.empty()
               ? "another version of dockdist made it"
               : fmt::format("dockdist {} made it, this is {}", node.release, release);
}

} // namespace dockdist
