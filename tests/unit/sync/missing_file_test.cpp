#include "client/sync/missing_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace missing_file_test {

using namespace dockdist;

namespace {

bool names(const std::string& text, const std::string& path) {
    return std::ranges::count(missing_paths(text), path) == 1;
}

} // namespace

TEST_CASE("what programs say that they did not find is read from their words") {
    CHECK(names("FileNotFoundError: [Errno 2] No such file or directory: 'data/shakespeare/train.bin'",
                "data/shakespeare/train.bin"));
    CHECK(names("python3: can't open file '/workspace/my train.py': [Errno 2] No such file or directory",
                "/workspace/my train.py"));
    CHECK(names("cat: data/train.bin: No such file or directory", "data/train.bin"));
    CHECK(names("OSError: configs/base.yaml not found.", "configs/base.yaml"));
    CHECK(names("ValueError: The file \"./ckpt/model.pt\" does not exist", "./ckpt/model.pt"));
    CHECK(names("RuntimeError: unable to open file </workspace/model.safetensors> in read-only mode",
                "/workspace/model.safetensors"));
    CHECK(names("[rank3]: FileNotFoundError: Unable to find 'file:///workspace/data/train.json'",
                "/workspace/data/train.json"));
    CHECK(names("there is no /workspace/train.py on this node", "/workspace/train.py"));
    CHECK(names("./run.sh: line 3: ./prepare: No such file or directory", "./prepare"));
}

TEST_CASE("a module is the files that it would be") {
    CHECK(missing_paths("ModuleNotFoundError: No module named 'data.loader'") ==
          std::vector<std::string>{"data/loader.py", "data", "data/loader", "data.loader"});
    CHECK(names("ModuleNotFoundError: No module named 'models'", "models"));
    CHECK(names("/usr/bin/python3: No module named lib.train", "lib/train.py"));
}

TEST_CASE("lines that miss nothing name nothing, and of very many names there is an end") {
    CHECK(missing_paths("loaded 'data/train.bin'\nRuntimeError: 'out/ckpt.pt' is corrupt").empty());
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += "No such file: '" + std::to_string(i) + "/x' ";
    }
    CHECK(missing_paths(text).size() == 32);
    CHECK(missing_paths("not found: '" + std::string(10000, 'a') + "'").empty());
}

TEST_CASE("a path is a name within the tree that stands at the target, or none") {
    CHECK(name_in_tree("data/train.bin", "/workspace", "/workspace") == "data/train.bin");
    CHECK(name_in_tree("./data//x/../train.bin", "/workspace", "/workspace/") == "data/train.bin");
    CHECK(name_in_tree("/workspace/data/", "/", "/workspace") == "data");
    CHECK(name_in_tree("../lib/a.py", "/workspace/src", "/workspace") == "lib/a.py");
    CHECK(name_in_tree("train.bin", "/data", "/workspace").empty());
    CHECK(name_in_tree("/workspace-2/a", "/", "/workspace").empty());
    CHECK(name_in_tree("/workspace", "/", "/workspace").empty());
    CHECK(name_in_tree("../../etc/passwd", "/workspace", "/workspace").empty());
}

TEST_CASE("each rule is told with its place and with what sends the file all the same") {
    using Group = IgnoreRules::Group;
    IgnoreRules::Reason reason{
        .rule = "*.bin", .from = ".gitignore", .line = 3, .group = Group::git, .name = "data/train.bin"};
    CHECK(rule_text(reason) == "`*.bin` in .gitignore:3");
    CHECK(how_to_send(reason).starts_with("a line `!/data/train.bin` in .dockdistignore"));
    reason.group = Group::exclude;
    CHECK(rule_text(reason) == "`*.bin` in `exclude` of the file");
    reason = {.rule = "x\x1b/",
              .from = "sub/.dockdistignore",
              .line = 1,
              .group = Group::dockdist,
              .name = "x",
              .folder = true};
    CHECK(rule_text(reason) == "`x\\x1b/` in sub/.dockdistignore:1");
    CHECK(how_to_send(reason) == "a line `!/x/` at the end of .dockdistignore sends it");
}

} // namespace missing_file_test
