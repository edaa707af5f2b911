// The toolkit, inside the client's own executable.
#pragma once

#include <span>
#include <string_view>

namespace dockdist {

std::span<const char>
toolkit_tar(); // uncompressed; entries are relative to /opt/dockdist; the last one completes it
std::string_view toolkit_version(); // the first 12 hex digits of its SHA-256

} // namespace dockdist
