// A hash of bytes that are there as a whole, as bytes.
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

std::string sha1(std::string_view bytes); // 20 bytes: for what others have hashed so

} // namespace dockdist
