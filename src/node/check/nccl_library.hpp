// The NCCL library that programs of the image load, where it is not one of Python's packages.
#pragma once

#include "wire/check_facts.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dockdist::node {

wire::NcclLibrary nccl_library();

// Pure. "2.21.5" of "…/libnccl.so.2.21.5"; nothing for "libnccl.so.2" itself.
std::optional<std::string> version_in_name(std::string_view path);

} // namespace dockdist::node
