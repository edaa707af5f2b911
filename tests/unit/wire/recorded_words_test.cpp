// Words of releases, as they were written then (tests/golden/wire): the present code reads all of them, and
// still says what an older reader looks for. DOCKDIST_UPDATE_GOLDEN=1 writes `next` anew, the present words.
#include "fakes/wire_words.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/version.hpp"
#include "unit/wire/word_readers.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <vector>

namespace recorded_words_test {

using namespace dockdist;
using namespace dockdist::testing;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path golden = fs::path(DOCKDIST_SOURCE_DIR) / "tests/golden/wire";
const fs::path sources = fs::path(DOCKDIST_SOURCE_DIR) / "src/shared/wire";

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool is_stream(std::string_view reader) {
    return !reader.starts_with("parse_") || reader == "parse_header";
}

// A word a line; what is a stream of bytes stands alone in its file.
std::string file_of(const std::string& reader) {
    return reader + (is_stream(reader) ? ".bytes" : ".lines");
}

std::vector<std::string> words_in(const std::string& reader, const std::string& text) {
    if (is_stream(reader)) {
        return {text};
    }
    auto lines = split(text, '\n');
    std::erase(lines, "");
    return lines;
}

std::map<std::string, std::string> present_files() {
    std::map<std::string, std::string> files;
    for (auto& [reader, bytes] : wire_words()) {
        const bool whole = is_stream(reader) || bytes.ends_with('\n');
        files[file_of(reader)] += bytes + (whole ? "" : "\n");
    }
    return files;
}

struct Recorded {
    std::string where{}; // "0.1/parse_job_event.lines"
    std::string reader{};
    std::vector<std::string> words{};
};

std::vector<Recorded> recorded_words() {
    std::vector<Recorded> all;
    for (const auto& entry : fs::recursive_directory_iterator(golden)) {
        const auto& path = entry.path();
        if (path.extension() == ".lines" || path.extension() == ".bytes") {
            const auto reader = path.stem().string();
            all.push_back({fs::relative(path, golden).string(), reader, words_in(reader, content(path))});
        }
    }
    return all;
}

// Joining needs the same version on both sides; a recording of another one is refused there.
bool is_of_this_version(const std::string& word) {
    const auto object = json::parse(word, nullptr, false);
    const bool joins = object.is_object() && object.contains("version") && object["version"].is_number();
    return !joins || object["version"] == wire::version;
}

// All that `older` holds stands in `newer`, too.
bool holds(const json& newer, const json& older) {
    if (older.is_object() && newer.is_object()) {
        return std::ranges::all_of(older.items(), [&](const auto& item) {
            return newer.contains(item.key()) && holds(newer[item.key()], item.value());
        });
    }
    if (older.is_array() && newer.is_array()) {
        return older.size() == newer.size() &&
               std::ranges::equal(newer, older, [](const auto& a, const auto& b) { return holds(a, b); });
    }
    return newer == older;
}

bool says_still(const std::string& present, const std::string& recorded) {
    const auto older = json::parse(recorded, nullptr, false);
    const auto newer = json::parse(present, nullptr, false);
    return older.is_discarded() || newer.is_discarded() ? present.starts_with(recorded) : holds(newer, older);
}

// A field that nobody knows, in every object of the word whose keys are fields; these hold names.
void add_unknown(json& value) {
    static const std::set<std::string> of_names{"env",  "secrets",  "files",  "governors", "addresses",
                                                "seen", "programs", "mounts", "hex",       "line"};
    for (auto& [key, item] : value.items()) {
        if (item.is_array() || (item.is_object() && !of_names.contains(key))) {
            add_unknown(item);
        }
    }
    if (value.is_object() && !value.contains("hex")) {
        value["of_a_later_release"] = "text";
    }
}

std::vector<std::string> lines_of_headers() {
    std::vector<std::string> lines;
    for (const auto& entry : fs::directory_iterator(sources)) {
        if (entry.path().extension() == ".hpp" && entry.path().stem() != "json_reader") { // of no words
            std::ranges::move(split(content(entry.path()), '\n'), std::back_inserter(lines));
        }
    }
    return lines;
}

std::set<std::string> found_in_headers(const std::regex& pattern) {
    std::set<std::string> found;
    for (const auto& line : lines_of_headers()) {
        std::smatch match;
        if (std::regex_search(line, match, pattern)) {
            found.insert(match[1]);
        }
    }
    return found;
}

// "JobEvent::Type" for an enumeration inside of a struct.
std::set<std::string> enumerations_in_headers() {
    static const std::regex outer("^(?:struct|class) (\\w+).*\\{$");
    static const std::regex enumeration("enum class (\\w+)");
    std::set<std::string> found;
    std::string inside;
    for (const auto& line : lines_of_headers()) {
        std::smatch match;
        if (std::regex_search(line, match, outer)) {
            inside = match[1].str() + "::";
        } else if (line.starts_with("}")) {
            inside.clear();
        }
        if (std::regex_search(line, match, enumeration)) {
            found.insert(inside + match[1].str());
        }
    }
    return found;
}

} // namespace

TEST_CASE("the present words are those that are recorded for the next release") {
    const auto present = present_files();
    if (std::getenv("DOCKDIST_UPDATE_GOLDEN") != nullptr) {
        fs::create_directories(golden / "next");
        for (const auto& [name, text] : present) {
            std::ofstream(golden / "next" / name, std::ios::binary) << text;
        }
    }
    std::set<std::string> recorded;
    for (const auto& entry : fs::directory_iterator(golden / "next")) {
        recorded.insert(entry.path().filename().string());
    }
    for (const auto& [name, text] : present) {
        CHECK_MESSAGE(content(golden / "next" / name) == text, name << " differs:\n" << text);
        recorded.erase(name);
    }
    CHECK(recorded.empty());
}

TEST_CASE("every recorded word is read") {
    KindsSeen unused;
    std::size_t read = 0;
    for (const auto& [where, reader, words] : recorded_words()) {
        REQUIRE_MESSAGE(word_readers().contains(reader), where);
        REQUIRE_MESSAGE(!words.empty(), where);
        for (const auto& word : words) {
            const auto status = word_readers().at(reader)(word, unused);
            const bool same = is_of_this_version(word);
            CHECK_MESSAGE(status.has_value() == same, where << ": " << word);
            if (!status) {
                CHECK(status.error().message.find("version") != std::string::npos);
            }
            ++read;
        }
    }
    CHECK(read > 100);
}

TEST_CASE("what a release has said is still said, so that its readers find all that they know") {
    const auto present = present_files();
    for (const auto& [where, reader, words] : recorded_words()) {
        const auto file = present.find(file_of(reader));
        REQUIRE_MESSAGE(file != present.end(), where);
        const auto said = words_in(reader, file->second);
        for (const auto& word : words) {
            const bool found =
                std::ranges::any_of(said, [&](const auto& now) { return says_still(now, word); });
            CHECK_MESSAGE((found || !is_of_this_version(word)), where << ": " << word);
        }
    }
}

TEST_CASE("fields that a reader does not know are passed over") {
    KindsSeen unused;
    std::size_t tried = 0;
    for (const auto& [reader, bytes] : wire_words()) {
        std::string changed;
        for (const auto& line : split(bytes, '\n')) {
            auto object = json::parse(line, nullptr, false);
            if (object.is_object()) {
                add_unknown(object);
                changed += object.dump() + "\n";
            }
        }
        if (!changed.empty()) {
            const auto status = word_readers().at(reader)(changed, unused);
            CHECK_MESSAGE(status.has_value(), reader << ": " << status.error().message << ": " << changed);
            ++tried;
        }
    }
    CHECK(tried > 80);
}

TEST_CASE("every reader and every kind of word in src/shared/wire has its recording") {
    KindsSeen seen{"JoinMessage::Type::other"}; // what a later version says
    for (const auto& [reader, bytes] : wire_words()) {
        for (const auto& word : words_in(reader, bytes)) {
            CHECK(word_readers().at(reader)(word, seen).has_value());
        }
    }
    std::set<std::string> readers;
    for (const auto& pattern : {"^Result<[^(]*> (parse_\\w+)\\(", "^class (\\w+(?:Decoder|Reader)) \\{"}) {
        readers.merge(found_in_headers(std::regex(pattern)));
    }
    CHECK(readers.size() > 35);
    for (const auto& reader : readers) {
        CHECK_MESSAGE(fs::exists(golden / "next" / file_of(reader)), reader);
    }
    for (const auto& ask : found_in_headers(std::regex("const char\\* ask = \"([^\"]+)\""))) {
        CHECK_MESSAGE(seen.contains("ask " + ask), ask);
        CHECK_MESSAGE(seen.contains("answer " + ask), ask);
    }
    const auto enumerations = enumerations_in_headers();
    CHECK(enumerations.size() > 10);
    for (const auto& name : enumerations) {
        REQUIRE_MESSAGE(word_kinds().contains(name), name);
        for (const auto& kind : word_kinds().at(name)) {
            CHECK_MESSAGE(seen.contains(kind), kind << " is in no recorded word");
        }
    }
}

} // namespace recorded_words_test
