#include "client/report/csv.hpp"

#include "client/report/display_text.hpp"
#include "shared/core/units.hpp"

namespace dockdist {
namespace {

// Formulas begin with one of = + - @, in full width too, and behind blanks: so a cell begins with what is
// none of these for certain.
bool begins_as_text(std::string_view cell) {
    const auto first = cell.empty() ? 'x' : cell.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
           (first >= '0' && first <= '9') ||
           std::string_view("_./~([{<#$").find(first) != std::string_view::npos;
}

} // namespace

CsvLine::CsvLine(std::initializer_list<std::string_view> titles) {
    for (const auto title : titles) {
        add(title);
    }
}

CsvLine& CsvLine::text(std::string_view foreign) {
    const auto safe = safe_cell(foreign);
    std::string cell = begins_as_text(safe) ? "" : "'";
    for (std::size_t i = 0; i < safe.size(); ++i) {
        cell += safe[i];
        if (safe[i] == ';' && !begins_as_text(std::string_view(safe).substr(i + 1))) {
            cell += '\''; // where the list separator is a semicolon the next cell begins here
        }
    }
    add(cell);
    return *this;
}

CsvLine& CsvLine::number(std::optional<double> value, int digits) {
    add(value ? decimal(*value, digits) : "");
    return *this;
}

CsvLine& CsvLine::whole(std::optional<std::int64_t> value) {
    add(value ? std::to_string(*value) : "");
    return *this;
}

void CsvLine::add(std::string_view cell) {
    line_ += empty_ ? "" : ",";
    empty_ = false;
    if (cell.find_first_of(",;\"") == std::string_view::npos) {
        line_ += cell;
        return;
    }
    line_ += '"';
    for (const char c : cell) {
        line_.append(c == '"' ? 2 : 1, c);
    }
    line_ += '"';
}

} // namespace dockdist
