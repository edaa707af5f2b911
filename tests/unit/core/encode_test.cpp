#include "shared/core/ascii.hpp"
#include "shared/core/encode.hpp"

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

TEST_CASE("base64 is read with its padding and without, and nothing else is skipped") {
    for (const auto* text : {"", "f", "fo", "foo", "foob", "\xfb\xff\xfe", "\xff\xff"}) {
        auto encoded = to_base64(text);
        CHECK(from_base64(encoded) == text);
        encoded.erase(encoded.find_last_not_of('=') + 1);
        CHECK(from_base64(encoded) == text);
    }
    CHECK(from_base64(to_base64(std::string_view("\0\0", 2))) == std::string(2, '\0'));
    for (const auto* text :
         {"Zm9vY", "Zm 9", "Zm9v\n", "Zg=", "Zg===", "=", "====", "Z===", "-__-", "Zm=v"}) {
        CAPTURE(text);
        CHECK_FALSE(from_base64(text).has_value());
    }
}

TEST_CASE("hex in small letters") {
    CHECK(to_hex("").empty());
    CHECK(to_hex(std::string_view("\0\x0a\xff", 3)) == "000aff");
}

TEST_CASE("only ASCII's letters become small ones") {
    CHECK(to_lower("Az-Z[\xc3\x84") == "az-z[\xc3\x84");
}

} // namespace encode_test
