#include "export/kubernetes/yaml_text.hpp"

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
        CHECK(to_yaml(Json(text)) == Json(text).dump(-1, ' ', true) + "\n");
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

TEST_CASE("YAML: lines that a block cannot hold are escaped") {
    for (const auto* text :
         {"\nx", " x\ny", "\tx\ny", "x\r\ny", "x\ny\x7F", "x\n\xC2\x85y", "x\n\xE2\x80\xA8y", "x\n\x1B[0m"}) {
        CHECK(to_yaml(Json(text)) == Json(text).dump(-1, ' ', true) + "\n");
    }
}

} // namespace
} // namespace yaml_text_test
