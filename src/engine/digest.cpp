#include "engine/digest.hpp"

#include <openssl/sha.h>

namespace dockdist {

std::string sha1(std::string_view bytes) {
    std::string hash(SHA_DIGEST_LENGTH, '\0');
    ::SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
    return hash;
}

} // namespace dockdist
