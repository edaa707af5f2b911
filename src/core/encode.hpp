// Bytes as text (RFC 4648).
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

std::string to_hex(std::string_view bytes);       // small letters
std::string to_base64(std::string_view bytes);    // with padding
std::string to_base64url(std::string_view bytes); // with padding

} // namespace dockdist
