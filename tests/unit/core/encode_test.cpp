#include "core/ascii.hpp"
#include "core/encode.hpp"

#include <doctest/doctest.h>

namespace encode_test {

using namespace dockdist;

TEST_CASE("base64 as in RFC 4648, and its alphabet for URLs") {
    CHECK(to_base64("").empty());
    CHECK(to_base64("f") == "Zg==");
    CHECK(to_base64("fo") == "Zm8=");
    CHECK(to_base64("foo") == "Zm9v");
    CHECK(to_base64("foob") == "Zm9vYg==");
    CHECK(to_base64("\xfb\xff\xfe") == "+//+");
    CHECK(to_base64url("\xfb\xff\xfe") == "-__-");
}

TEST_CASE("hex in small letters") {
    CHECK(to_hex("").empty());
    CHECK(to_hex(std::string_view("\0\x0a\xff", 3)) == "000aff");
}

TEST_CASE("only ASCII's letters become small ones") {
    CHECK(to_lower("Az-Z[\xc3\x84") == "az-z[\xc3\x84");
}

} // namespace encode_test
