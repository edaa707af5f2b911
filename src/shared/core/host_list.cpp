#include "shared/core/host_list.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_digits = 9; // a number of more is text to host_list()

using Names = std::vector<std::string>;

std::string with_zeros(std::size_t number, std::size_t width) {
    auto digits = std::to_string(number);
    digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
    return digits;
}

Error no_list(std::string_view what) {
    return {ErrorKind::config, "", std::string(what), "write it like gpu[001-128] or 10.0.[0-3].[1-254]"};
}

Error too_many() {
    return {ErrorKind::config, "", "it stands for more than " + std::to_string(most_host_names) + " hosts",
            "is a number too long?"};
}

// "08-10,12" as "08", "09", "10", "12"; "0-8/4" as "0", "4", "8".
Result<Names> expand_ranges(std::string_view ranges) {
    Names numbers;
    for (const auto& range : split(ranges, ',')) {
        const auto slash = std::min(range.find('/'), range.size());
        const auto dash = std::min(range.find('-'), slash);
        const auto low = range.substr(0, dash);
        const auto least = whole_number<std::size_t>(low);
        const auto most =
            dash == slash
                ? least
                : whole_number<std::size_t>(std::string_view(range).substr(dash + 1, slash - dash - 1));
        const auto step = slash == range.size()
                              ? std::optional<std::size_t>(1)
                              : whole_number<std::size_t>(std::string_view(range).substr(slash + 1));
        if (!least || !most || !step || *step == 0) {
            return no_list("`[" + printable(ranges) + "]` is not a range of numbers");
        }
        if (*most < *least) {
            return no_list("`" + range + "` counts down");
        }
        if ((*most - *least) / *step >= most_host_names - numbers.size()) {
            return too_many();
        }
        for (std::size_t i = 0; i <= (*most - *least) / *step; ++i) {
            numbers.push_back(with_zeros(*least + i * *step, low.size()));
        }
    }
    return numbers;
}

// Every beginning with every number behind it.
Result<Names> append_each(const Names& beginnings, const Names& numbers) {
    if (beginnings.size() * numbers.size() > most_host_names) {
        return too_many();
    }
    Names names;
    for (const auto& beginning : beginnings) {
        for (const auto& number : numbers) {
            names.push_back(beginning + number);
        }
    }
    return names;
}

// One item of the list: text with any number of [..] in it. An IPv6 address in brackets is no range.
Result<Names> expand_item(std::string_view item) {
    Names names{""};
    const auto append = [&](std::string_view text) {
        for (auto& name : names) {
            name += text;
        }
    };
    while (!item.empty()) {
        const auto open = std::min(item.find('['), item.size());
        append(item.substr(0, open));
        item.remove_prefix(open);
        if (item.empty()) {
            break;
        }
        const auto close = item.find(']');
        if (close == std::string_view::npos) {
            return no_list("the bracket in `" + printable(item) + "` is not closed");
        }
        const auto inside = item.substr(1, close - 1);
        if (inside.find(':') != std::string_view::npos) {
            append(item.substr(0, close + 1));
        } else {
            const auto numbers = expand_ranges(inside);
            auto longer = numbers ? append_each(names, *numbers) : Result<Names>(numbers.error());
            if (!longer) {
                return longer;
            }
            names = std::move(*longer);
        }
        item.remove_prefix(close + 1);
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

Result<std::vector<std::string>> read_host_list(std::string_view list) {
    Names names;
    for (const auto& item : split_host_list(list)) {
        if (item.empty()) {
            return no_list(list.empty() ? "it names no host" : "a name is missing between two commas");
        }
        auto some = expand_item(item);
        if (!some) {
            return some;
        }
        if (some->size() > most_host_names - names.size()) {
            return too_many();
        }
        names.insert(names.end(), std::make_move_iterator(some->begin()),
                     std::make_move_iterator(some->end()));
    }
    return names;
}

std::optional<std::vector<std::string>> expand_host_list(std::string_view list) {
    auto names = read_host_list(list);
    return names ? std::optional(std::move(*names)) : std::nullopt;
}

bool has_range(std::string_view text) {
    for (auto open = text.find('['); open != std::string_view::npos; open = text.find('[', open + 1)) {
        const auto inside = text.substr(open + 1, text.find(']', open) - open - 1);
        if (inside.find(':') == std::string_view::npos) {
            return true;
        }
    }
    return false;
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

std::string short_host_list(std::span<const std::string> names, std::size_t columns) {
    auto text = host_list(names);
    if (text.size() <= columns || names.size() < 2) {
        return text;
    }
    const auto cut_behind = [&](std::size_t count) {
        return host_list(names.first(count)) + ", … " + std::to_string(names.size() - count) + " more";
    };
    std::size_t low = 1; // so many are shown, however long that is
    std::size_t high = names.size() - 1;
    while (low < high) {
        const auto middle = low + (high - low + 1) / 2;
        if (cut_behind(middle).size() <= columns) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return cut_behind(low);
}

std::string list_names(std::span<const std::string> names) {
    constexpr std::size_t most_names = 4; // one by one
    constexpr std::size_t widest_names = 60;
    return names.size() > most_names ? short_host_list(names, widest_names) : first_names(names, most_names);
}

std::string first_names(std::span<const std::string> names, std::size_t most) {
    std::string text;
    for (const auto& name : names.first(std::min(names.size(), most))) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

} // namespace dockdist
