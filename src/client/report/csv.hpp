// Lines of CSV as RFC 4180 has them, which no spreadsheet takes for formulas. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

class CsvLine {
public:
    CsvLine() = default;
    CsvLine(std::initializer_list<std::string_view> titles); // of the header

    // Foreign text: what controls a terminal is made visible, and what a spreadsheet might take for a formula
    // (of whatever separator its country has) gets an apostrophe in front.
    CsvLine& text(std::string_view foreign);
    // With so many digits behind the point; nothing: an empty cell.
    CsvLine& number(std::optional<double> value, int digits);
    CsvLine& whole(std::optional<std::int64_t> value);

    std::string str() const { return line_ + "\r\n"; }

private:
    void add(std::string_view cell);
    std::string line_{};
    bool empty_ = true;
};

} // namespace dockdist
