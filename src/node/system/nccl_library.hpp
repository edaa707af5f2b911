// The NCCL libraries of the image.
#pragma once

#include "node/system/environment.hpp"
#include "shared/wire/check_facts.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dockdist::node {

// The one that programs load which have this environment, where it is not one of Python's packages.
wire::NcclLibrary nccl_library(const Environment& environment);

// The oldest of that one and those of Python's packages where such are usual ("2.19.3"); empty: none has said
// its version.
std::string oldest_nccl(const Environment& environment);

// Pure. "2.21.5" of "…/libnccl.so.2.21.5"; nothing for "libnccl.so.2" itself.
std::optional<std::string> version_in_name(std::string_view path);
// Pure. "2.21.5" of "nvidia_nccl_cu12-2.21.5.dist-info".
std::optional<std::string> version_of_package(std::string_view folder);
// Pure. By their numbers: "2.9.9" before "2.21.5".
bool is_older(std::string_view one, std::string_view other);

} // namespace dockdist::node
