#include "shared/core/encode.hpp"
#include "shared/diagnosis/pickle.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace pickle_test {

using namespace dockdist;
using namespace std::string_literals;

namespace {

std::string error_of(const std::string& bytes) {
    const auto read = Pickle::read(bytes);
    return read ? "" : read.error().message;
}

// {"a": [1, -2, 300, 70000, 2**40, -2**40, 1.5, None, True, False], "t": (1, 2), "s": "é"}, as CPython 3.11
// writes it.
const std::string by_protocol_2 =
    "\x80\x02}q\0(X\x01\0\0\0aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\0\x8a\x06\0\0\0\0\0\x01\x8a\x06\0\0\0\0\0\xffG?\xf8\0\0\0\0\0\0N\x88\x89"s
    "eX\x01\0\0\0tq\x03K\x01K\x02\x86q\x04X\x01\0\0\0sq\x05X\x02\0\0\0\xc3\xa9q\x06u."s;
const std::string by_protocol_4 =
    "\x80\x04\x95\x4a\0\0\0\0\0\0\0}\x94(\x8c\x01"
    "a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\0\x8a\x06\0\0\0\0\0\x01\x8a\x06\0\0\0\0\0\xffG?\xf8\0\0\0\0\0\0N\x88\x89"s
    "e\x8c\x01t\x94K\x01K\x02\x86\x94\x8c\x01s\x94\x8c\x02\xc3\xa9\x94u."s;

} // namespace

TEST_CASE("plain values are read, of whichever protocol") {
    for (const auto& bytes : {by_protocol_2, by_protocol_4}) {
        const auto pickle = Pickle::read(bytes);
        REQUIRE(pickle.has_value());
        const auto root = pickle->root();
        REQUIRE(root.size() == 3);
        CHECK(root.key(0).text() == "a");
        const auto list = root["a"];
        REQUIRE(list.size() == 10);
        CHECK(list.at(0).integer() == 1);
        CHECK(list.at(1).integer() == -2);
        CHECK(list.at(2).integer() == 300);
        CHECK(list.at(3).integer() == 70000);
        CHECK(list.at(4).integer() == std::int64_t{1} << 40);
        CHECK(list.at(5).integer() == -(std::int64_t{1} << 40));
        CHECK_FALSE(list.at(6).is_integer());
        CHECK(list.at(7).integer(7) == 7);
        CHECK(list.at(8).is_true());
        CHECK_FALSE(list.at(9).is_true());
        CHECK(root["t"].size() == 2);
        CHECK(root["t"].at(1).integer() == 2);
        CHECK(root["s"].text() == "\xc3\xa9");
        CHECK(root["none"].text().empty());
        CHECK(root["a"]["none"].size() == 0);
        CHECK(root["t"].at(2).integer(-1) == -1);
    }
}

TEST_CASE("what stands at several places is one value, also in itself") {
    const auto twice = "\x80\x02]q\0(}q\x01X\x01\0\0\0xq\x02K\x01sh\x01X\x01\0\0\0kq\x03h\x03"
                       "e."s;
    const auto shared = Pickle::read(twice);
    REQUIRE(shared.has_value());
    REQUIRE(shared->root().size() == 4);
    CHECK(shared->root().at(1)["x"].integer() == 1);
    CHECK(shared->root().at(3).text() == "k");
    const auto itself = "\x80\x02]q\0h\0a."s;
    const auto endless = Pickle::read(itself);
    REQUIRE(endless.has_value());
    CHECK(endless->root().at(0).at(0).at(0).size() == 1);
}

TEST_CASE("what would run code is refused") {
    constexpr auto refused = "a pickle: it has an opcode that runs code";
    CHECK(error_of("\x80\x02"
                   "c__builtin__\nprint\nq\0."s) == refused);
    CHECK(error_of("\x80\x04\x95\x14\0\0\0\0\0\0\0\x8c\x08"
                   "builtins\x94\x8c\x05print\x94\x93\x94."s) == refused);
    for (const char opcode : "RbioPQ\x81\x82\x83\x84\x92\x93"s) {
        CHECK(error_of("\x80\x02NN"s + opcode + "."s) == refused);
    }
}

TEST_CASE("what is no pickle of plain values is an error that says why") {
    for (std::size_t size = 0; size < by_protocol_2.size(); ++size) {
        CHECK(error_of(by_protocol_2.substr(0, size)) == "a pickle: it ends too early");
    }
    CHECK(error_of("N") == "a pickle: it ends too early");
    CHECK(error_of(".") == "a pickle: it does not end with one value");
    CHECK(error_of("NN.") == "a pickle: it does not end with one value");
    CHECK(error_of("N(.") == "a pickle: it does not end with one value");
    CHECK(error_of("\xff.") == "a pickle: unknown opcode 255");
    CHECK(error_of("Na.") == "a pickle: it appends to nothing");
    CHECK(error_of("NNa.") == "a pickle: it adds to what is no list or dictionary");
    CHECK(error_of("}(Nu.") == "a pickle: it adds to what is no list or dictionary"); // a key alone
    CHECK(error_of("](NNu.") == "a pickle: it adds to what is no list or dictionary");
    CHECK(error_of("(e.") == "a pickle: it adds to nothing");
    CHECK(error_of("e.") == "a pickle: it has no mark where one belongs");
    CHECK(error_of("N\x86.") == "a pickle: it makes a tuple of nothing");
    CHECK(error_of("Ns.") == "a pickle: it sets items of nothing");
    CHECK(error_of("h\x03.") == "a pickle: it recalls what it has not remembered");
    CHECK(error_of("Nq") == "a pickle: it ends too early");
    CHECK(error_of("q\x01.") == "a pickle: it remembers nothing, or too much");
    CHECK(error_of("Nr\xff\xff\xff\x7f.") == "a pickle: it remembers nothing, or too much");
    CHECK(error_of("\x8a\x09"
                   "123456789.") == "a pickle: it has a number of more than 64 bits");
    CHECK(Pickle::read("\x8a\x08\0\0\0\0\0\0\0\x80."s)->root().integer() ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(Pickle::read("\x8a\0."s)->root().integer(5) == 0);
}

TEST_CASE("it has bounds") {
    CHECK(error_of(std::string(Pickle::most_bytes + 1, 'N')) == "a pickle: it is larger than 64 MiB");
    CHECK(error_of("(" + std::string(Pickle::most_values, 'N') + "t.") == "a pickle: it has too many values");
    CHECK(error_of(std::string(Pickle::most_values + 1, '(')) == "a pickle: it has too many values");
    CHECK(error_of("Nq\0("s + std::string(2 * Pickle::most_values, 'h')) != ""); // h takes a byte
}

} // namespace pickle_test
