// Kubernetes' rules for names.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <string_view>

namespace dockdist {

// What the job of a set is called, and its container: Kubeflow's trainer knows the training processes by it.
inline constexpr std::string_view pods_name = "node";

bool is_dns_label(std::string_view text);      // RFC 1123: [a-z0-9-], 63 at most
bool is_dns_domain(std::string_view text);     // such labels with dots between, 253 at most
bool is_qualified_name(std::string_view text); // of labels, taints and resources: "[DOMAIN/]NAME"
bool is_label_value(std::string_view text);    // may be empty

// The name of a set of `nodes` pods, made of what the job is called: lower case, with `-` for what a DNS
// label has not. The names of its pods, <name>-node-0-<index>-<five letters>, are DNS labels too. Errors
// (usage): nothing is left of it, it begins with a digit, or is too long.
Result<std::string> set_name(std::string_view job, int nodes);

// The same for a volume's name, as the name of a claim.
std::string claim_name(std::string_view volume);

// Of the pod of an index, as the cluster's DNS knows it in the set's namespace: before it is ready, too.
std::string pod_address(const std::string& set, int index);

} // namespace dockdist
