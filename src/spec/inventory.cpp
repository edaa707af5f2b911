#include "spec/inventory.hpp"

#include "core/host_list.hpp"
#include "core/number.hpp"
#include "core/text.hpp"
#include "spec/inventory_builder.hpp"

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

// "ops@gpu1", "gpu1" or "ssh://ops@gpu1:22": the name of a whole address is that of its machine.
ListedHost read_listed(const std::string& text) {
    ListedHost host;
    if (const auto scheme = text.find("://"); scheme != std::string::npos) {
        host.url = text;
        host.name = text;
        return host;
    }
    const auto at = text.rfind('@');
    host.user = at == std::string::npos ? "" : text.substr(0, at);
    host.name = text.substr(at == std::string::npos ? 0 : at + 1);
    return host;
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words{""};
    bool in_brackets = false;
    for (const char c : line) {
        in_brackets = c == '[' || (in_brackets && c != ']');
        if (c == ' ' || c == '\t' || (c == ',' && !in_brackets)) {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    std::erase(words, "");
    return words;
}

bool looks_like_yaml(std::string_view text) {
    for (const auto& each : split(text, '\n')) {
        const auto line = bare_line(each);
        if (!line.empty()) {
            return line == "---" || line.starts_with('{') || line.ends_with(':');
        }
    }
    return false;
}

Result<Inventory> parse_all(const ListText& list, HostSource::Format format) {
    switch (format) {
    case HostSource::Format::hosts:
        return parse_host_lines(list.text);
    case HostSource::Format::ansible:
        return parse_ansible(list);
    case HostSource::Format::clush:
        return parse_clush_groups(list.text);
    case HostSource::Format::slurm:
        return parse_allocation(list.text);
    }
    return Inventory{};
}

// The hosts of one group alone, and the other groups as far as they name these.
Result<Inventory> only(const Inventory& all, const std::string& group) {
    const auto chosen = std::ranges::find(all.groups, group, [](const auto& each) { return each.first; });
    if (chosen == all.groups.end()) {
        std::vector<std::string> names;
        std::ranges::transform(all.groups, std::back_inserter(names),
                               [](const auto& each) { return printable(each.first); });
        return list_error(0, "it has no group `" + printable(group) + "`",
                          names.empty() ? "it has no groups" : "it has " + short_host_list(names, 200));
    }
    Inventory inventory;
    std::vector<std::optional<std::size_t>> place(all.hosts.size());
    for (const auto host : chosen->second) {
        place[host] = inventory.hosts.size();
        inventory.hosts.push_back(all.hosts[host]);
    }
    for (const auto& [name, hosts] : all.groups) {
        std::vector<std::size_t> kept;
        for (const auto host : hosts) {
            if (place[host]) {
                kept.push_back(*place[host]);
            }
        }
        if (!kept.empty()) {
            inventory.groups.emplace_back(name, std::move(kept));
        }
    }
    return inventory;
}

} // namespace

std::string HostSource::place() const {
    if (format == Format::slurm) {
        return "the Slurm allocation";
    }
    return command.empty() ? file : "`" + shell_join(command) + "`";
}

Result<Inventory> parse_ansible(const ListText& list) {
    auto json = read_ansible_json(list.text);
    auto builder = json                         ? std::move(*json)
                   : looks_like_yaml(list.text) ? read_ansible_yaml(list.text)
                                                : read_ansible_ini(list.text);
    if (!builder) {
        return builder.error();
    }
    if (const auto taken = builder->take_beside(list.beside); !taken) {
        return taken.error();
    }
    return builder->build();
}

Result<Inventory> parse_host_lines(std::string_view text) {
    Inventory inventory;
    std::set<std::string> known;
    std::size_t number = 0;
    for (const auto& each : split(text, '\n')) {
        ++number;
        std::optional<int> slots;
        std::vector<std::string> names;
        for (const auto& word : words_of(bare_line(each))) {
            if (word.starts_with("slots=")) {
                slots = whole_number<int>(std::string_view(word).substr(6));
                if (slots.value_or(0) < 1) {
                    return list_error(number, "`" + printable(word) + "` is no number of slots");
                }
                continue;
            }
            if (!is_printable(word) || word.find('=') != std::string::npos) {
                return list_error(
                    number, "`" + printable(word) + "` is no host",
                    "a line has names, ranges like gpu[001-128] or engine addresses; an inventory "
                    "of Ansible needs `format: ansible`");
            }
            auto some = read_host_list(word);
            if (!some) {
                return list_error(number, some.error().message, some.error().hint);
            }
            names.insert(names.end(), some->begin(), some->end());
        }
        for (const auto& name : names) {
            auto host = read_listed(name);
            host.slots = slots;
            if (known.insert(host.name).second) {
                inventory.hosts.push_back(std::move(host));
            }
        }
        if (inventory.hosts.size() > most_host_names) {
            return list_error(number, "it names more than " + std::to_string(most_host_names) + " hosts");
        }
    }
    return inventory;
}

Result<Inventory> parse_inventory(const ListText& list, HostSource::Format format, const std::string& group) {
    auto all = parse_all(list, format);
    if (!all) {
        return all;
    }
    if (all->hosts.size() > most_host_names) {
        return list_error(0, "it names more than " + std::to_string(most_host_names) + " hosts");
    }
    std::erase_if(all->groups, [&](const auto& each) { // these two say nothing of a host
        return (each.first == "all" || each.first == "ungrouped") && each.first != group;
    });
    return group.empty() ? all : only(*all, group);
}

} // namespace dockdist
