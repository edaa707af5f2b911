// The lines of a program's output, each with what it says of a failure. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct OutputLine {
    std::string text{};         // as a terminal shows it, without colours
    bool gap = false;           // lines were left out before, "… 23 lines";
    std::size_t stands_for = 1; // so many
    enum class Weight : std::uint8_t {
        noise, // frames, source, rules; what launchers say of a rank's failure, victims' exceptions
        ordinary,
        near_cause, // where an exception was raised, what follows a cause
        cause,
    };
    Weight weight = Weight::ordinary;
    bool exception = false;
    std::size_t chain = 0; // of an exception: the line of the first one of its chain
};

// Empty lines are left out. Of very much the end alone is read.
std::vector<OutputLine> read_output(std::string_view text);

// The line without what launchers and torch put before a rank's lines: "[rank3]: ", "[default0]:",
// "[1,3]<stderr>:", "(train pid=12, ip=10.0.0.1) ".
std::string_view without_tag(std::string_view line);
bool starts_with_box(std::string_view text); // with a sign that boxes are drawn with

// "… 23 lines", which read_output() knows again.
std::string left_out_text(std::size_t lines);

} // namespace dockdist
