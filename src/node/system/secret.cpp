#include "node/system/secret.hpp"

#include <sodium.h>

namespace dockdist::node {

bool same_secret(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace dockdist::node
