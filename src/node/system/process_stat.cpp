#include "node/system/process_stat.hpp"

#include "node/system/os.hpp"
#include "shared/core/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>

namespace dockdist::node {

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
    // The name in parentheses may hold anything: the fields are counted from behind it, the state being the
    // 3rd.
    const auto name_begin = text.find('(');
    const auto name_end = text.rfind(')');
    if (name_end == std::string_view::npos || name_begin > name_end || name_end + 2 >= text.size()) {
        return std::nullopt;
    }
    ProcessStat stat;
    stat.name = text.substr(name_begin + 1, name_end - name_begin - 1);
    const auto number = std::from_chars(text.data(), text.data() + text.size(), stat.pid);
    stat.state = text[name_end + 2];
    constexpr int first_number = 4;
    constexpr int last_number = 24;
    constexpr int last_needed = 20;
    std::array<std::int64_t, last_number + 1> fields{};
    const char* at = text.data() + name_end + 3;
    const char* const end = text.data() + text.size();
    for (int field = first_number; field <= last_number; ++field) {
        at = std::find_if_not(at, end, [](char c) { return c == ' '; });
        const auto [next, error] = std::from_chars(at, end, fields.at(static_cast<std::size_t>(field)));
        if (error != std::errc{} && field > last_needed) {
            break;
        }
        if (error != std::errc{} || number.ec != std::errc{}) {
            return std::nullopt;
        }
        at = next;
    }
    stat.parent = static_cast<pid_t>(fields[4]);
    stat.group = static_cast<pid_t>(fields[5]);
    stat.session = static_cast<pid_t>(fields[6]);
    stat.cpu_ticks = fields[14] + fields[15];
    stat.waited_ticks = fields[16] + fields[17];
    stat.threads = fields[20];
    stat.started_ticks = fields[22];
    stat.resident_pages = fields[24];
    return stat;
}

std::optional<ProcessStat> read_process_stat(pid_t pid) {
    return parse_process_stat(read_file_or_empty("/proc/" + std::to_string(pid) + "/stat"));
}

std::vector<ProcessStat> all_processes() {
    std::vector<ProcessStat> all;
    for (const auto& name : list_folder("/proc")) {
        const auto pid = whole_number<pid_t>(name);
        if (const auto stat = pid ? read_process_stat(*pid) : std::nullopt) {
            all.push_back(*stat);
        }
    }
    return all;
}

std::vector<ProcessStat> tree_of(const std::vector<ProcessStat>& all, const std::vector<pid_t>& roots) {
    std::multimap<pid_t, const ProcessStat*> children;
    for (const auto& process : all) {
        children.emplace(process.parent, &process);
    }
    std::vector<ProcessStat> tree;
    std::set<pid_t> known;
    for (const auto root : roots) {
        const auto found = std::ranges::find(all, root, &ProcessStat::pid);
        if (found != all.end() && known.insert(root).second) {
            tree.push_back(*found);
        }
    }
    for (std::size_t i = 0; i < tree.size(); ++i) {
        const auto [first, last] = children.equal_range(tree[i].pid);
        for (auto child = first; child != last; ++child) {
            if (known.insert(child->second->pid).second) {
                tree.push_back(*child->second);
            }
        }
    }
    return tree;
}

} // namespace dockdist::node
