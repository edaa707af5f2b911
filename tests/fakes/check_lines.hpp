// Lines of a check's protocol (shared/wire/check.hpp), sound and with most of their fields filled, for tests
// that damage them.
#pragma once

#include <string>
#include <vector>

namespace dockdist {

struct CheckLine {
    enum class About { facts, mounts, links };
    About about = About::facts;
    std::string text{}; // a question's or an answer's, with its newline
};

std::vector<CheckLine> check_lines();

} // namespace dockdist
