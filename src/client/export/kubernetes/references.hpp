// Kubernetes puts variables in place of `$(NAME)` in the words of a container's command and in the values of
// its environment
// (kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables).
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

// A text of which Kubernetes makes `text` again, byte for byte.
std::string escape_references(std::string_view text);

} // namespace dockdist
