#include "client/export/kubernetes/yaml_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace yaml_text_test {

using namespace dockdist;

namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("YAML: what some reader takes for something else is quoted") {
    for (const auto* text : {"no",    "Yes",   "ON",         "y",     "null", "~",   "",    "1e3",
                             "0x1f",  "12:30", "2026-01-02", "1_000", ".5",   "-1",  "+1",  "=",
                             "<<",    "- a",   "a: b",       "a:",    "a #b", "#a",  "&a",  "*a",
                             "!a",    "%a",    "@a",         "`a`",   "[a]",  "{a}", "a|b", "'a'",
                             "\"a\"", " a",    "a ",         "?",     "a\tb", "\x01"}) {
        CHECK(to_yaml(Json(text)) == Json(text).dump() + "\n");
    }
    for (const auto* text : {"a", "node", "nvidia.com/gpu", "/dev/shm", "nvcr.io/nvidia/pytorch:24.01-py3",
                             "a b", "yesterday", "Norway", "one (two)", "a=b,c@d"}) {
        CHECK(to_yaml(Json(text)) == std::string(text) + "\n");
    }
}

TEST_CASE("YAML: numbers, booleans and what is empty") {
    CHECK(to_yaml({{"a", 1}, {"b", true}, {"c", Json::object()}, {"d", Json::array()}, {"e", nullptr}}) ==
          "a: 1\nb: true\nc: {}\nd: []\ne: null\n");
}

TEST_CASE("YAML: lists of objects and of lists") {
    const Json value = {
        {"list", Json::array({{{"name", "a"}, {"more", Json::array({"x", "y"})}}, "b", Json::array({1})})}};
    CHECK(to_yaml(value) == "list:\n"
                            "  - name: a\n"
                            "    more:\n"
                            "      - x\n"
                            "      - \"y\"\n"
                            "  - b\n"
                            "  -\n"
                            "    - 1\n");
}

TEST_CASE("YAML: lines stand as a block, with as many ends of lines as the text has") {
    CHECK(to_yaml({{"a", "x\n  y\n\nz"}}) == "a: |-\n  x\n    y\n\n  z\n");
    CHECK(to_yaml({{"a", "x\ny\n"}}) == "a: |\n  x\n  y\n");
    CHECK(to_yaml({{"a", "x\n\n"}, {"b", 1}}) == "a: |+\n  x\n\nb: 1\n");
    CHECK(to_yaml(Json::array({"x\ny"})) == "- |-\n  x\n  y\n");
}

TEST_CASE("YAML: lines that a block cannot hold are escaped, and characters stand as they are") {
    CHECK(to_yaml(Json("\nx")) == R"("\nx")"
                                  "\n");
    CHECK(to_yaml(Json(" x\ny")) == R"(" x\ny")"
                                    "\n");
    CHECK(to_yaml(Json("\tx\ny")) == R"("\tx\ny")"
                                     "\n");
    CHECK(to_yaml(Json("x\r\ny")) == R"("x\r\ny")"
                                     "\n");
    CHECK(to_yaml(Json("x\n\x7F\x1B")) == R"("x\n\u007f\u001b")"
                                          "\n");
    CHECK(to_yaml(Json("x\n\xC2\x85 \xE2\x80\xA8 \xEF\xBB\xBF")) == R"("x\n\u0085 \u2028 \ufeff")"
                                                                    "\n");
    CHECK(to_yaml(Json("\xC3\xA9 \xF0\x9F\x98\x80")) == "\"\xC3\xA9 \xF0\x9F\x98\x80\"\n");
}

} // namespace
} // namespace yaml_text_test
