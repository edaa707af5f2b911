#include "shared/gpu/smi.hpp"

#include <doctest/doctest.h>

#include <set>

namespace smi_test {

using namespace dockdist;

TEST_CASE("every question has its words and a name of its own, which can name a file") {
    std::set<std::string_view> names;
    std::set<SmiQuestion> questions;
    for (const auto& [question, name, argv] : smi_commands()) {
        CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
        CHECK(argv.front() == "nvidia-smi");
        CHECK(smi_argv(question) == argv);
        names.insert(name);
        questions.insert(question);
    }
    CHECK(names.size() == smi_commands().size());
    CHECK(questions.size() == smi_commands().size());
    for (auto question = 0; question <= static_cast<int>(SmiQuestion::old_figures); ++question) {
        CHECK(questions.contains(static_cast<SmiQuestion>(question)));
    }
}

} // namespace smi_test
