// Bytes as text (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

std::string to_hex(std::string_view bytes);       // small letters
bool is_hex(std::string_view text);               // of those digits alone
std::string to_base64(std::string_view bytes);    // with padding
std::string to_base64url(std::string_view bytes); // with padding

// Of to_base64's alphabet; the padding may be missing as a whole. Nothing else is skipped.
std::optional<std::string> from_base64(std::string_view text);

} // namespace dockdist
