#include "client/plan/origin.hpp"

#include "client/plan/labels.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace dockdist {

std::optional<std::string> another_origin(const Labels& there, const std::string& own) {
    auto origin = label_of(there, labels::origin);
    return origin.empty() || origin == own ? std::nullopt : std::optional(std::move(origin));
}

Error of_another_file(const ClusterName& cluster, const std::string& origin, const std::string& consequence,
                      const std::string& command) {
    return {
        ErrorKind::conflict, "",
        fmt::format("a cluster named {} is there already, made by {}, {}", cluster.str(), printable(origin),
                    consequence),
        fmt::format(
            "give this cluster another `name:`, or take the other one over with `dockdist {} --take-over`",
            command)};
}

std::optional<Error> of_another_file_here(const ClusterName& cluster, const Labels& there,
                                          const std::string& own) {
    const auto origin = another_origin(there, own);
    const auto colon = own.find(':');
    if (!origin || colon == std::string::npos || !origin->starts_with(own.substr(0, colon + 1))) {
        return std::nullopt;
    }
    std::error_code failed;
    const auto file = std::filesystem::path(origin->substr(colon + 1));
    if (!std::filesystem::exists(file, failed) ||
        std::filesystem::equivalent(file, own.substr(colon + 1), failed)) { // it was moved
        return std::nullopt;
    }
    auto error = of_another_file(cluster, *origin, "and not from this file", "…");
    error.hint = "give this cluster another `name:` and `dockdist up`; or say `--take-over`, to use the "
                 "other one's nodes";
    return error;
}

} // namespace dockdist
