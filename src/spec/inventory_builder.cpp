#include "spec/inventory_builder.hpp"

#include "core/host_list.hpp"
#include "core/number.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t deepest_group = 64;

// The newer name of a variable, then the older one.
constexpr std::pair<const char*, const char*> address_names{"ansible_host", "ansible_ssh_host"};
constexpr std::pair<const char*, const char*> user_names{"ansible_user", "ansible_ssh_user"};
constexpr std::pair<const char*, const char*> port_names{"ansible_port", "ansible_ssh_port"};

std::string variable(const HostVariables& variables, const std::pair<const char*, const char*>& names) {
    for (const auto* name : {names.first, names.second}) {
        if (const auto found = variables.find(name); found != variables.end()) {
            return found->second;
        }
    }
    return {};
}

Result<ListedHost> to_host(const std::string& name, const HostVariables& variables) {
    ListedHost host{
        .name = name, .address = variable(variables, address_names), .user = variable(variables, user_names)};
    const auto port = variable(variables, port_names);
    for (const auto& value : {host.address, host.user, port}) {
        if (value.find("{{") != std::string::npos) {
            return list_error(
                0,
                "`" + printable(value) + "` of " + printable(name) +
                    " is a template, which only Ansible can fill in",
                "let it: `from: {command: [ansible-inventory, --list, --yaml], format: ansible}`");
        }
    }
    if (!port.empty()) {
        const auto number = whole_number<std::uint16_t>(port);
        if (number.value_or(0) == 0) {
            return list_error(0, "`" + printable(port) + "` of " + printable(name) + " is no port");
        }
        host.port = *number;
    }
    return host;
}

bool is_letter_range(const std::vector<std::string>& parts) {
    if (parts.size() != 2 || parts[0].size() != 1 || parts[1].size() != 1 || parts[0] > parts[1]) {
        return false;
    }
    const char low = parts[0][0];
    const char high = parts[1][0];
    return (low >= 'a' && high <= 'z') || (low >= 'A' && high <= 'Z');
}

} // namespace

Error list_error(std::size_t line, std::string message, std::string hint) {
    return {ErrorKind::config, line == 0 ? "" : std::to_string(line), std::move(message), std::move(hint)};
}

std::string_view bare_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const auto begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    line.remove_prefix(begin);
    return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

std::size_t InventoryBuilder::host(const std::string& name) {
    const auto [at, fresh] = host_at_.try_emplace(name, hosts_.size());
    if (fresh) {
        hosts_.push_back({.name = name});
    }
    return at->second;
}

std::size_t InventoryBuilder::group(const std::string& name) {
    const auto [at, fresh] = group_at_.try_emplace(name, groups_.size());
    if (fresh) {
        groups_.push_back({.name = name});
    }
    return at->second;
}

void InventoryBuilder::add_host(std::size_t group, std::size_t host) {
    groups_[group].hosts.push_back(host);
}

void InventoryBuilder::add_child(std::size_t group, std::size_t child) {
    groups_[group].children.push_back(child);
}

// How far below the top each group is: the longest way counts.
Status InventoryBuilder::measure_depths() {
    for (std::size_t round = 0;; ++round) {
        const Group* moved = nullptr;
        for (const auto& group : groups_) {
            for (const auto child : group.children) {
                if (groups_[child].depth <= group.depth) {
                    groups_[child].depth = group.depth + 1;
                    moved = &groups_[child];
                }
            }
        }
        if (moved == nullptr) {
            return ok;
        }
        if (round == deepest_group) {
            return list_error(0, "the group `" + printable(moved->name) +
                                     "` is its own child, or below more than 64 others");
        }
    }
}

void InventoryBuilder::gather(std::size_t group, std::vector<bool>& seen, std::vector<bool>& members) const {
    if (seen[group]) {
        return;
    }
    seen[group] = true;
    for (const auto host : groups_[group].hosts) {
        members[host] = true;
    }
    for (const auto child : groups_[group].children) {
        gather(child, seen, members);
    }
}

Result<Inventory> InventoryBuilder::build() {
    if (const auto all = group_at_.find("all");
        all != group_at_.end()) { // whatever it names, all are below it
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            if (i != all->second) {
                add_child(all->second, i);
            }
        }
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            add_host(all->second, i);
        }
    }
    if (const auto measured = measure_depths(); !measured) {
        return measured.error();
    }
    Inventory inventory;
    std::vector<std::vector<bool>> members;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        std::vector<bool> seen(groups_.size());
        members.emplace_back(hosts_.size());
        gather(i, seen, members.back());
    }
    std::vector<std::size_t> by_depth; // those that say something, the deepest first
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (!groups_[i].variables.empty()) {
            by_depth.push_back(i);
        }
    }
    std::ranges::sort(by_depth, {},
                      [&](std::size_t i) { return std::pair(deepest_group * 2 - groups_[i].depth, i); });
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        auto variables = hosts_[host].variables;
        for (const auto group : by_depth) {
            if (members[group][host]) {
                variables.insert(groups_[group].variables.begin(), groups_[group].variables.end());
            }
        }
        auto listed = to_host(hosts_[host].name, variables);
        if (!listed) {
            return listed.error();
        }
        inventory.hosts.push_back(std::move(*listed));
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        std::vector<std::size_t> hosts;
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
            if (members[i][host]) {
                hosts.push_back(host);
            }
        }
        inventory.groups.emplace_back(groups_[i].name, std::move(hosts));
    }
    return inventory;
}

Result<std::vector<std::string>> expand_ansible_range(std::string_view pattern) {
    std::vector<std::string> names{""};
    while (!pattern.empty()) {
        const auto open = std::min(pattern.find('['), pattern.size());
        for (auto& name : names) {
            name += pattern.substr(0, open);
        }
        pattern.remove_prefix(open);
        if (pattern.empty()) {
            break;
        }
        const auto close = pattern.find(']');
        const auto inside = pattern.substr(1, close == std::string_view::npos ? 0 : close - 1);
        const auto parts = split(inside, ':');
        std::vector<std::string> middles;
        if (is_letter_range(parts)) {
            for (char c = parts[0][0]; c <= parts[1][0]; ++c) {
                middles.emplace_back(1, c);
            }
        } else if (parts.size() == 2 || parts.size() == 3) {
            auto numbers = expand_host_list("[" + parts[0] + "-" + parts[1] +
                                            (parts.size() == 3 ? "/" + parts[2] : "") + "]");
            middles = numbers ? std::move(*numbers) : middles;
        }
        if (middles.empty()) {
            return list_error(0, "`" + printable(pattern) + "` is no range of Ansible's",
                              "it is written [01:50], [1:9:2] or [a:f]");
        }
        if (middles.size() * names.size() > most_host_names) {
            return list_error(0, "it stands for more than " + std::to_string(most_host_names) + " hosts");
        }
        std::vector<std::string> longer;
        for (const auto& name : names) {
            for (const auto& middle : middles) {
                longer.push_back(name + middle);
            }
        }
        names = std::move(longer);
        pattern.remove_prefix(close + 1);
    }
    return names;
}

} // namespace dockdist
