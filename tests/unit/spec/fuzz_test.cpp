// Mutated files must load or be refused, never crash: run it in a sanitizer build too. Seeded, so that a
// failure repeats.
#include "shared/core/text.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <random>
#include <set>

namespace fuzz_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

constexpr std::array<std::string_view, 40> dictionary{
    "[",    "]",     "{",        "}",    ": ",     "- ",     "? ",          "\n",
    "\n  ", "\t",    "&a ",      "*a",   "<<: *a", "!!str ", "|\n",         ">\n",
    "\"",   "'",     "\\",       "#",    "---\n",  "...\n",  "%YAML 1.2\n", "${",
    "${A}", "${B:-", "$$",       "}",    "~",      "null",   "0755",        "99999999999999999999",
    "-1",   "all",   "\xC3\xBC", "\xFF", "\x01",   "hosts:", "container:",  "ssh://-o"};

class Mutator {
public:
    explicit Mutator(std::uint32_t seed) : random_(seed) {}

    std::string mutate(std::string text) {
        const auto times = 1 + below(6);
        for (std::size_t i = 0; i < times; ++i) {
            mutate_once(text);
        }
        return text;
    }
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

private:
    void mutate_once(std::string& text) {
        const auto at = below(text.size() + 1);
        const auto length = below(std::min<std::size_t>(60, text.size() - at + 1));
        switch (below(6)) {
        case 0:
            text.insert(at, dictionary.at(below(dictionary.size())));
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(below(text.size() + 1), text.substr(at, length));
            break;
        case 3:
            if (at < text.size()) {
                text[at] = static_cast<char>(below(256));
            }
            break;
        case 4:
            text.resize(at);
            break;
        default:
            text.replace(at, length, dictionary.at(below(dictionary.size())));
        }
    }

    std::mt19937 random_;
};

std::vector<std::string> seeds() {
    std::vector<std::string> texts;
    for (const auto* folder : {"templates", "tests/golden/spec/bad"}) {
        for (const auto& file : files_in(source_folder() / folder, ".yaml")) {
            texts.push_back(read_file(file));
        }
    }
    return texts;
}

// A failed check here names the text that it failed on.
void check_loaded(const std::string& text) {
    const auto loaded = load_spec(text, "cluster.yaml", environment({{"A", "a\nb: [c"}, {"HOME", "/h"}}));
    bool good = true;
    for (const auto& error : loaded.errors) {
        good = good && error.kind == ErrorKind::config && error.where.starts_with("cluster.yaml:") &&
               !error.message.empty() && is_printable(error.message) && is_printable(error.hint);
    }
    if (loaded.errors.empty()) {
        std::set<std::string> names;
        for (const auto& node : expand_nodes(loaded.spec)) {
            good = good && is_plain_name(node.name.str()) && names.insert(node.name.str()).second;
        }
        good =
            good && !names.empty() && is_plain_name(loaded.spec.name.str()) && !loaded.spec.image.ref.empty();
    }
    CHECK_MESSAGE(good, text, "\n", all_text(loaded.errors));
}

} // namespace

TEST_CASE("mutated files load or are refused") {
    const auto texts = seeds();
    REQUIRE(texts.size() > 20);
    Mutator mutator(20250101);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (int i = 0; i < 60'000 && std::chrono::steady_clock::now() < end; ++i) {
        check_loaded(mutator.mutate(texts[mutator.below(texts.size())]));
    }
}

} // namespace fuzz_test
