#include "core/host_list.hpp"

#include "core/number.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cstdint>

namespace dockdist {
namespace {

constexpr std::size_t most_host_names = 65536;
constexpr std::size_t most_digits = 9; // a number of more is text to host_list()

using Names = std::vector<std::string>;

std::string with_zeros(std::size_t number, std::size_t width) {
    auto digits = std::to_string(number);
    digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
    return digits;
}

// "08-10,12" as "08", "09", "10", "12".
std::optional<Names> expand_ranges(std::string_view ranges) {
    Names numbers;
    for (const auto& range : split(ranges, ',')) {
        const auto dash = std::min(range.find('-'), range.size());
        const auto low = range.substr(0, dash);
        const auto least = whole_number<std::size_t>(low);
        const auto most = dash == range.size()
                              ? least
                              : whole_number<std::size_t>(std::string_view(range).substr(dash + 1));
        if (!least || !most || *most < *least || *most - *least >= most_host_names - numbers.size()) {
            return std::nullopt;
        }
        for (auto number = *least; number <= *most; ++number) {
            numbers.push_back(with_zeros(number, low.size()));
        }
    }
    return numbers;
}

// Every beginning with every number behind it.
std::optional<Names> append_each(const Names& beginnings, const Names& numbers) {
    if (beginnings.size() * numbers.size() > most_host_names) {
        return std::nullopt;
    }
    Names names;
    for (const auto& beginning : beginnings) {
        for (const auto& number : numbers) {
            names.push_back(beginning + number);
        }
    }
    return names;
}

// One item of the list: text with any number of [..] in it.
std::optional<Names> expand_item(std::string_view item) {
    std::optional<Names> names = Names{""};
    while (names && !item.empty()) {
        const auto open = std::min(item.find('['), item.size());
        for (auto& name : *names) {
            name += item.substr(0, open);
        }
        item.remove_prefix(open);
        if (item.empty()) {
            break;
        }
        const auto close = item.find(']');
        const auto numbers =
            close == std::string_view::npos ? std::nullopt : expand_ranges(item.substr(1, close - 1));
        names = numbers ? append_each(*names, *numbers) : std::nullopt;
        item.remove_prefix(std::min(close + 1, item.size()));
    }
    return names;
}

// A name as what stands before the number at its end, and that number.
struct Numbered {
    std::string_view text{};
    std::string_view digits{}; // none: the name has no number, or one that is no good in brackets
    std::size_t number = 0;
};

Numbered read_name(std::string_view name) {
    const auto last = name.find_last_not_of("0123456789");
    const auto begin = last == std::string_view::npos ? 0 : last + 1;
    const auto digits = name.substr(begin);
    if (digits.empty() || digits.size() > most_digits) {
        return {.text = name};
    }
    return {.text = name.substr(0, begin), .digits = digits, .number = *whole_number<std::size_t>(digits)};
}

// Whether `next` comes right behind `number` in a range that began with a number so wide.
bool follows(const Numbered& before, const Numbered& next, std::size_t width) {
    return !before.digits.empty() && next.text == before.text && next.number == before.number + 1 &&
           next.digits == with_zeros(next.number, width);
}

struct Range {
    Numbered first{}, last{};
};

std::string to_text(const Range& range) {
    const std::string low(range.first.digits);
    return range.first.number == range.last.number ? low : low + "-" + std::string(range.last.digits);
}

} // namespace

std::vector<std::string> split_host_list(std::string_view list) {
    Names items{""};
    bool in_brackets = false;
    for (const char c : list) {
        in_brackets = c == '[' || (in_brackets && c != ']');
        if (c == ',' && !in_brackets) {
            items.emplace_back();
        } else {
            items.back() += c;
        }
    }
    return items;
}

std::optional<std::vector<std::string>> expand_host_list(std::string_view list) {
    Names names;
    for (const auto& item : split_host_list(list)) {
        auto some = expand_item(item);
        if (item.empty() || !some || some->size() > most_host_names - names.size()) {
            return std::nullopt;
        }
        names.insert(names.end(), some->begin(), some->end());
    }
    return names;
}

std::string host_list(std::span<const std::string> names) {
    std::vector<std::vector<Range>> items;
    for (const auto& name : names) {
        const auto next = read_name(name);
        auto* item = items.empty() ? nullptr : &items.back();
        if (item != nullptr && follows(item->back().last, next, item->back().first.digits.size())) {
            item->back().last = next;
        } else if (item != nullptr && !next.digits.empty() && !item->back().last.digits.empty() &&
                   item->back().last.text == next.text) {
            item->push_back({next, next});
        } else {
            items.push_back({{next, next}});
        }
    }
    std::string list;
    for (const auto& item : items) {
        const bool one = item.size() == 1 && item.front().first.number == item.front().last.number;
        std::string ranges;
        for (const auto& range : item) {
            ranges += (ranges.empty() ? "" : ",") + to_text(range);
        }
        list += (list.empty() ? "" : ",") + std::string(item.front().first.text) +
                (one ? ranges : "[" + ranges + "]");
    }
    return list;
}

} // namespace dockdist
