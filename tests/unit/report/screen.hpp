// A terminal in miniature: obeys what dockdist sends and fails the test on anything else. It scrolls, wraps,
// and wraps anew when its width changes, as common terminals do.
#pragma once

#include "client/report/display_text.hpp"
#include "shared/core/utf8.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::test {

class Screen {
public:
    Screen(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows) {}

    void feed(std::string_view bytes) {
        while (!bytes.empty()) {
            if (bytes.front() == '\x1b') {
                bytes.remove_prefix(escape(bytes));
            } else if (bytes.front() == '\n') {
                line_feed(false);
                bytes.remove_prefix(1);
            } else if (bytes.front() == '\r') {
                column_ = 0;
                bytes.remove_prefix(1);
            } else {
                const auto character = decode_utf8(bytes);
                REQUIRE(character.size > 0);
                REQUIRE(character.code_point >= 0x20);
                put(bytes.substr(0, character.size));
                bytes.remove_prefix(character.size);
            }
        }
    }

    void resize(std::size_t columns, std::size_t rows) {
        std::vector<Line> old;
        old.swap(lines_);
        lines_.push_back({});
        const auto cursor = row_;
        row_ = column_ = 0;
        columns_ = columns;
        rows_ = rows;
        std::size_t new_row = 0;
        for (std::size_t i = 0; i < old.size(); ++i) {
            if (i == cursor) {
                new_row = row_;
            }
            for (const auto& cell : old[i].cells) {
                put(cell);
            }
            if (i + 1 < old.size() && !old[i].wraps) {
                line_feed(false);
                column_ = 0;
            }
        }
        row_ = new_row;
        column_ = 0;
    }

    // All lines so far, those that have scrolled away included, without trailing blanks.
    std::string text() const {
        std::string result;
        for (const auto& line : lines_) {
            std::string shown;
            for (const auto& cell : line.cells) {
                shown += cell;
            }
            shown.erase(shown.find_last_not_of(' ') + 1);
            result += shown;
            result += line.wraps ? "" : "\n";
        }
        result.erase(result.find_last_not_of('\n') + 1);
        return result.empty() ? result : result + "\n";
    }

    bool cursor_visible() const { return cursor_visible_; }
    std::size_t cursor_column() const { return column_; }
    bool coloured() const { return coloured_; }

private:
    struct Line {
        std::vector<std::string> cells{};
        bool wraps = false;
    };

    std::size_t top() const { return lines_.size() > rows_ ? lines_.size() - rows_ : 0; }

    void line_feed(bool wraps) {
        lines_[row_].wraps = wraps;
        ++row_;
        column_ = 0;
        if (row_ == lines_.size()) {
            lines_.push_back({});
        }
    }

    void put(std::string_view character) {
        const auto width = display_width(character);
        auto* cells = &lines_[row_].cells;
        if (width == 0 && !cells->empty()) {
            cells->back() += character;
            return;
        }
        if (column_ + width > columns_) {
            line_feed(true);
            cells = &lines_[row_].cells;
        }
        if (cells->size() < column_ + width) {
            cells->resize(column_ + width, " ");
        }
        (*cells)[column_] = character;
        for (std::size_t i = 1; i < width; ++i) {
            (*cells)[column_ + i].clear();
        }
        column_ += width;
    }

    std::size_t escape(std::string_view bytes) {
        REQUIRE(bytes.starts_with("\x1b["));
        const auto end = bytes.find_first_not_of("0123456789;?", 2);
        REQUIRE(end != std::string_view::npos);
        const auto parameters = bytes.substr(2, end - 2);
        std::size_t number = 0;
        std::from_chars(parameters.data(), parameters.data() + parameters.size(), number);
        switch (bytes[end]) {
        case 'A':
            row_ -= std::min(std::max<std::size_t>(number, 1), row_ - top());
            break;
        case 'K':
            REQUIRE(number == 0);
            erase_to_line_end();
            break;
        case 'J':
            REQUIRE(number == 0);
            erase_to_line_end();
            lines_.resize(row_ + 1);
            break;
        case 'm':
            coloured_ = number != 0;
            break;
        case 'h':
        case 'l':
            REQUIRE(parameters == "?25");
            cursor_visible_ = bytes[end] == 'h';
            break;
        default:
            FAIL("an escape sequence that this terminal does not know: " << bytes[end]);
        }
        return end + 1;
    }

    void erase_to_line_end() {
        auto& line = lines_[row_];
        line.cells.resize(std::min(line.cells.size(), column_));
        line.wraps = false;
    }

    std::size_t columns_, rows_;
    std::vector<Line> lines_{1};
    std::size_t row_ = 0, column_ = 0;
    bool cursor_visible_ = true;
    bool coloured_ = false;
};

} // namespace dockdist::test
