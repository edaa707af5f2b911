#include "client/spec/inventory.hpp"

#include "client/spec/inventory_builder.hpp"
#include "shared/core/byte_order_mark.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>

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

// Of a word that says something of the line's hosts: `slots=8`, and what Open MPI has beside it.
Result<bool> take_slots(const std::string& word, std::optional<int>& slots) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    if (equals == std::string::npos || (key != "slots" && key != "max_slots" && key != "max-slots")) {
        return false;
    }
    const auto number = whole_number<int>(std::string_view(word).substr(equals + 1));
    if (number.value_or(0) < 1) {
        return Error{ErrorKind::config, "", "`" + printable(word) + "` is not a number of slots", ""};
    }
    slots = key == "slots" ? number : slots; // there are never more ranks on a node than it has slots
    return true;
}

// "gpu1:8", as MPICH and Horovod write slots. A port it may be as well, and then whose?
Result<std::optional<int>> take_number_behind(std::string& name) {
    constexpr int ssh_port = 22;
    constexpr int most_slots = 1023;
    const auto colon = name.rfind(':');
    const bool is_address = name.find(':') != colon && (colon == 0 || name[colon - 1] != ']');
    const auto number = whole_number<int>(std::string_view(name).substr(std::min(colon + 1, name.size())));
    if (colon == std::string::npos || is_address || name.find("://") != std::string::npos || !number) {
        return std::optional<int>{};
    }
    const auto word = name;
    name.resize(colon);
    if (name.starts_with('[') && name.ends_with(']')) {
        name = name.substr(1, name.size() - 2);
    }
    if (*number < 1 || *number > most_slots) {
        return Error{ErrorKind::config, "", "`" + printable(word) + "` has a port",
                     "if that is the machine's own sshd, write `ssh://" + printable(word) +
                         "`; if it was a container's, leave it out: a node has an sshd of its own"};
    }
    return *number == ssh_port ? std::optional<int>{} : number;
}

Result<std::vector<std::string>> read_names(const std::string& word) {
    if (word.starts_with('-')) {
        return Error{ErrorKind::config, "", "`" + printable(word) + "` is not a host",
                     "what ssh needs for a machine goes into ~/.ssh/config, or in the engine's address: "
                     "ssh://USER@HOST:PORT"};
    }
    if (!is_printable(word) || word.find('=') != std::string::npos) {
        return Error{ErrorKind::config, "", "`" + printable(word) + "` is not a host",
                     "a line has names, ranges like gpu[001-128] or engine addresses; an inventory "
                     "of Ansible needs `format: ansible`"};
    }
    return read_host_list(word);
}

// A host that comes again is the same; with slots each time, it has them all.
class HostLines {
public:
    void add(ListedHost host) {
        const auto [place, fresh] = places_.try_emplace(host.name, inventory_.hosts.size());
        if (fresh) {
            inventory_.hosts.push_back(std::move(host));
            return;
        }
        auto& slots = inventory_.hosts[place->second].slots;
        if (slots && host.slots) {
            *slots += *host.slots;
        }
    }
    Inventory& inventory() { return inventory_; }

private:
    Inventory inventory_{};
    std::map<std::string, std::size_t> places_{};
};

Status read_host_line(std::string_view line, HostLines& lines) {
    std::optional<int> slots;
    std::vector<ListedHost> hosts;
    for (const auto& word : words_of(line)) {
        const auto taken = take_slots(word, slots);
        if (!taken || *taken) {
            TRY(taken);
            continue;
        }
        const auto names = read_names(word);
        TRY(names);
        for (auto name : *names) {
            const auto behind = take_number_behind(name);
            TRY(behind);
            hosts.push_back(read_listed(name));
            hosts.back().slots = *behind;
        }
    }
    for (auto& host : hosts) {
        host.slots = host.slots ? host.slots : slots;
        lines.add(std::move(host));
    }
    return ok;
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
    TRY(builder);
    TRY(builder->take_beside(list.beside));
    return builder->build();
}

Result<Inventory> parse_host_lines(std::string_view text) {
    HostLines lines;
    std::size_t number = 0;
    for (const auto& each : split(text, '\n')) {
        ++number;
        if (const auto read = read_host_line(bare_line(each), lines); !read) {
            return list_error(number, read.error().message, read.error().hint);
        }
        if (lines.inventory().hosts.size() > most_host_names) {
            return list_error(number, "it names more than " + std::to_string(most_host_names) + " hosts");
        }
    }
    return std::move(lines.inventory());
}

Result<Inventory> parse_inventory(const ListText& list, HostSource::Format format, const std::string& group) {
    const auto bare = without_byte_order_mark(list.text);
    auto all = bare.size() == list.text.size()
                   ? parse_all(list, format)
                   : parse_all({.text = std::string(bare), .beside = list.beside}, format);
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
