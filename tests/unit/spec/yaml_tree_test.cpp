#include "client/spec/yaml_tree.hpp"

#include <doctest/doctest.h>

namespace yaml_tree_test {

using namespace dockdist;

namespace {

std::string first_mistake(const std::string& text) {
    const auto document = parse_yaml(text);
    if (document.mistakes.empty()) {
        return "none";
    }
    const auto& mistake = document.mistakes.front();
    return std::to_string(mistake.place.line) + ":" + std::to_string(mistake.place.column) + " " +
           mistake.message;
}

std::string repeat(const std::string& text, std::size_t times) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

} // namespace

TEST_CASE("columns count characters, not bytes") {
    const auto document = parse_yaml("ü: {größe: x}\n");
    REQUIRE(document.root != nullptr);
    const auto* inner = document.root->find("ü")->value;
    CHECK(inner->place == Place{1, 4});
    CHECK(inner->find("größe")->value->place == Place{1, 12});
}

TEST_CASE("a key or an item without a value is placed where it stands") {
    const auto document = parse_yaml("a:\n\n\nb: 1\n");
    CHECK(document.root->find("a")->value->kind == YamlNode::Kind::null);
    CHECK(document.root->find("a")->value->place == Place{1, 1});
    const auto list = parse_yaml("- a\n-\n\n- ~\n");
    CHECK(list.root->items.at(1)->place == Place{2, 1});
    CHECK(list.root->items.at(2)->place == Place{4, 3});
}

TEST_CASE("merge keys: own keys win, then the earlier map") {
    const auto document = parse_yaml("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 3}\n");
    CHECK(document.mistakes.empty());
    const auto* merged = document.root->find("c")->value;
    CHECK(merged->find("x")->value->text == "3");
    CHECK(merged->find("y")->value->text == "1");
    CHECK(merged->find("z")->value->text == "2");
    CHECK(merged->find("<<") == nullptr);
}

TEST_CASE("a quoted << is a key like any other") {
    CHECK(parse_yaml("'<<': 1\n").root->find("<<") != nullptr);
}

TEST_CASE("what YAML forbids is told with its place") {
    CHECK(first_mistake("a: 1\na: 2\n") == "2:1 the key `a` appears here a second time");
    CHECK(first_mistake("a: &x [*x]\n") == "1:8 this alias is inside the value that it repeats");
    CHECK(first_mistake("a: *x\n") == "1:4 this alias names no anchor");
    CHECK(first_mistake("a: 1\n---\nb: 2\n") == "3:1 a second document begins here");
    CHECK(first_mistake("a: !!python/object x\n") ==
          "1:4 the tag `tag:yaml.org,2002:python/object` has no meaning here");
    CHECK(first_mistake("a: \"x\nb: 1\n") == "1:4 the quotation mark \" is not closed");
    CHECK(first_mistake("a: 'it''s\n") == "1:4 the quotation mark ' is not closed");
    CHECK(first_mistake("a:\n\t- x\n") == "2:1 there is a tab in the indentation");
    CHECK(first_mistake("[a]: 1\n") == "1:1 a key has to be text, not a list or a map");
    CHECK(first_mistake("a: 1\n<<: 2\n") == "2:1 `<<` takes a map, or a list of maps, to merge in");
}

TEST_CASE("what is well formed has no mistake") {
    for (const std::string text :
         {"a: 'it''s'\n", "a: \"x\\\"\"\n", "a: 1\n...\n", "---\na: 1\n", "a: \"x\"", "? a\n: b\n",
          "# c\na: |\n  \"x\n", "a: &x 1\nb: *x\n", "&k a: 1\n*k : 2\nc: 3\n"}) {
        CAPTURE(text);
        if (text.find("*k") == std::string::npos) {
            CHECK(first_mistake(text) == "none");
        } else {
            CHECK(first_mistake(text) == "2:1 the key `a` appears here a second time");
        }
    }
}

TEST_CASE("what is no text is refused before it is parsed") {
    CHECK(first_mistake("") == "1:1 the file is empty");
    CHECK(first_mistake(" \n\t\n") == "1:1 the file is empty");
    CHECK(first_mistake("# only\n") == "1:1 the file holds nothing but comments");
    CHECK(first_mistake("a: gr\xFCn\n") == "1:6 byte 0xfc is not UTF-8");
    CHECK(first_mistake(std::string("a: x\0y\n", 7)) == "1:5 there is a control character (U+0000) here");
    CHECK(first_mistake("a: x\n\x04") == "2:1 there is a control character (U+0004) here");
    CHECK(first_mistake("\xFF\xFE"
                        "a") == "1:1 the file is UTF-16");
}

TEST_CASE("deep nesting ends early") {
    CHECK(first_mistake(repeat("[", 100) + repeat("]", 100)) ==
          "1:33 lists and maps are nested more than 32 deep");
    CHECK(first_mistake(repeat("- ", 100'000)) == "1:65 lists and maps are nested more than 32 deep");
}

TEST_CASE("an alias bomb is refused") {
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 30; ++i) {
        const auto before = std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
                repeat("*a" + before + ", ", 8) + "*a" + before + "]\n";
    }
    CHECK(first_mistake(bomb) == "6:5 this holds more than 200000 values, aliases written out");
}

TEST_CASE("a bomb of merge keys is refused") {
    std::string bomb = "a: &a {";
    for (int i = 0; i < 1000; ++i) {
        bomb += "k" + std::to_string(i) + ": 1, ";
    }
    bomb += "}\nb: {<<: [" + repeat("*a, ", 10'000) + "]}\n";
    CHECK(parse_yaml(bomb).root == nullptr);
}

} // namespace yaml_tree_test
