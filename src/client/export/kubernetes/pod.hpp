// The pod of a node.
#pragma once

#include "client/export/kubernetes/manifest.hpp"

namespace dockdist {

// Its spec, with what a script of node_script.hpp takes for granted: POD_IP. `names`: what things are called.
// What has no counterpart in it goes to `warnings`.
nlohmann::ordered_json pod_spec(const ExportJob& job, const std::string& script,
                                const KubernetesOptions& options, const Manifest& names, Errors& warnings);

// Of what a key of the file asks for and the manifest does not hold: "`container.mounts`", "`z` of /data".
Error without_counterpart(const std::string& key, const std::string& what, const std::string& hint);

} // namespace dockdist
