#include "node/session/scontrol.hpp"

#include "core/number.hpp"
#include "core/text.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"

#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t most_host_names = 65536;

using Names = std::vector<std::string>;

int complain(const std::string& message) {
    (void)write_all(STDERR_FILENO, "scontrol: " + message + "\n");
    return 1;
}

// "08-10,12" as "08", "09", "10", "12".
std::optional<Names> expand_ranges(std::string_view ranges) {
    Names numbers;
    for (const auto& range : split(ranges, ',')) {
        const auto dash = std::min(range.find('-'), range.size());
        const auto low = range.substr(0, dash);
        const auto first = whole_number<std::size_t>(low);
        const auto last = dash == range.size()
                              ? first
                              : whole_number<std::size_t>(std::string_view(range).substr(dash + 1));
        if (!first || !last || *last < *first || *last - *first >= most_host_names - numbers.size()) {
            return std::nullopt;
        }
        for (auto number = *first; number <= *last; ++number) {
            auto digits = std::to_string(number);
            digits.insert(0, low.size() > digits.size() ? low.size() - digits.size() : 0, '0');
            numbers.push_back(std::move(digits));
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

// At the commas that are outside of brackets.
Names split_items(std::string_view list) {
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

int show_hostnames(const std::string& list) {
    const auto names = expand_hostlist(list);
    if (!names) {
        return complain("invalid host list: " + printable(list));
    }
    std::string text;
    for (const auto& name : *names) {
        text += name + "\n";
    }
    return write_all(STDOUT_FILENO, text) ? 0 : 1;
}

} // namespace

std::optional<std::vector<std::string>> expand_hostlist(std::string_view list) {
    Names names;
    for (const auto& item : split_items(list)) {
        auto some = expand_item(item);
        if (item.empty() || !some || some->size() > most_host_names - names.size()) {
            return std::nullopt;
        }
        names.insert(names.end(), some->begin(), some->end());
    }
    return names;
}

std::optional<int> run_scontrol(const std::vector<std::string>& arguments) {
    if (arguments.size() < 2 || arguments.size() > 3 || arguments[0] != "show") {
        return std::nullopt;
    }
    const auto& what = arguments[1];
    const auto own = Environment::own();
    const auto list = arguments.size() == 3
                          ? arguments[2]
                          : own.get("SLURM_JOB_NODELIST").value_or(own.get("SLURM_NODELIST").value_or(""));
    if (what == "hostlist" && arguments.size() == 3) {
        return write_all(STDOUT_FILENO, list + "\n") ? 0 : 1;
    }
    if (what != "hostname" && what != "hostnames") {
        return std::nullopt;
    }
    return list.empty() ? complain("no host list is given, and SLURM_JOB_NODELIST is not set")
                        : show_hostnames(list);
}

} // namespace dockdist::node
