#include "shared/core/encode.hpp"
#include "shared/digest/sha256.hpp"

#include <doctest/doctest.h>

namespace sha256_test {

using namespace dockdist;

// FIPS 180-2, appendix B.1.
TEST_CASE("a digest in each of its forms, of a whole and of pieces") {
    const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    CHECK(sha256_hex("abc") == abc);
    CHECK(sha256_of("abc") == "sha256:" + abc);
    CHECK(to_hex(sha256_bytes("abc")) == abc);
    Sha256 pieces;
    pieces.add("a");
    pieces.add("");
    pieces.add("bc");
    CHECK(pieces.digest() == "sha256:" + abc);
    CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

} // namespace sha256_test
