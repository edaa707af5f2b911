// Each tests/golden/spec/bad/NAME.yaml says in NAME.txt what a person is told. DOCKDIST_UPDATE_GOLDEN=1
// writes the .txt files anew.
#include "shared/core/text.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace bad_files_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

const std::map<std::string, std::string> variables{{"HOME", "/home/ops"},
                                                   {"EMPTY", ""},
                                                   {"PORT", "2222:22"},
                                                   {"INJECTED", "a\nprivileged: true"},
                                                   {"SECRET", "hunter2"}};

LoadedSpec load_bad(const std::filesystem::path& file) {
    return load_spec(read_file(file), file.filename(), environment(variables));
}

std::string told(const LoadedSpec& loaded) {
    auto text = all_text(loaded.errors);
    for (const auto& warning : loaded.warnings) {
        text += "warning: " + to_text(warning) + "\n";
    }
    return text;
}

// The lines that only one of the two has.
std::string difference(const std::string& expected, const std::string& actual) {
    const auto old_lines = split(expected, '\n');
    const auto new_lines = split(actual, '\n');
    std::string text;
    for (const auto& line : old_lines) {
        text += std::ranges::find(new_lines, line) == new_lines.end() ? "- " + line + "\n" : "";
    }
    for (const auto& line : new_lines) {
        text += std::ranges::find(old_lines, line) == old_lines.end() ? "+ " + line + "\n" : "";
    }
    return text.empty() ? "the same lines in another order:\n" + actual : text;
}

std::vector<std::filesystem::path> bad_files() {
    return files_in(source_folder() / "tests/golden/spec/bad", ".yaml");
}

} // namespace

TEST_CASE("bad files are refused with the messages that are written beside them") {
    REQUIRE(bad_files().size() > 20);
    for (const auto& file : bad_files()) {
        const auto actual = told(load_bad(file));
        auto golden = file;
        golden.replace_extension(".txt");
        if (std::getenv("DOCKDIST_UPDATE_GOLDEN") != nullptr) {
            std::ofstream(golden, std::ios::binary) << actual;
        }
        const auto expected = read_file(golden);
        CHECK_MESSAGE(actual == expected, file.filename().string(), ":\n", difference(expected, actual));
    }
}

TEST_CASE("every bad file has an error, and each error has a place and one line of text") {
    for (const auto& file : bad_files()) {
        CAPTURE(file.filename().string());
        const auto loaded = load_bad(file);
        CHECK_FALSE(loaded.errors.empty());
        for (const auto& error : loaded.errors) {
            CAPTURE(to_text(error));
            CHECK(error.kind == ErrorKind::config);
            CHECK(error.where.starts_with(file.filename().string() + ":"));
            CHECK(is_printable(error.message));
            CHECK(is_printable(error.hint));
        }
    }
}

TEST_CASE("no message holds a secret's value") {
    for (const auto& file : bad_files()) {
        CAPTURE(file.filename().string());
        CHECK(told(load_bad(file)).find("hunter") == std::string::npos);
    }
}

TEST_CASE("eight mistakes in one file are eight errors in the file's order") {
    const auto loaded = load_bad(source_folder() / "tests/golden/spec/bad/eight-mistakes.yaml");
    REQUIRE(loaded.errors.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(loaded.errors[i].where.starts_with("eight-mistakes.yaml:" + std::to_string(i + 1) + ":"));
    }
}

} // namespace bad_files_test
