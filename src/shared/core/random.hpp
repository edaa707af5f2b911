// Names and tokens that nobody can guess.
#pragma once

#include <cstddef>
#include <string>

namespace dockdist {

// So many hexadecimal digits from the system's source of randomness.
std::string random_hex(std::size_t digits);

} // namespace dockdist
