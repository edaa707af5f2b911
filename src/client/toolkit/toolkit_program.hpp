// One program of the toolkit, for a host that has none of it.
#pragma once

#include "shared/core/result.hpp"
#include "shared/core/toolkits.hpp"

#include <string>
#include <string_view>

namespace dockdist {

// The bytes of an entry of its tar, "libexec/dockdist-init". Errors: internal, when there is none.
Result<std::string> toolkit_program(const Toolkit& toolkit, std::string_view name);

} // namespace dockdist
