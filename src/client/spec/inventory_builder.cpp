#include "client/spec/inventory_builder.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t deepest_group = 64;
constexpr std::size_t longest_value = 1024;

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

constexpr int deepest_template = 8;

// "{{ NAME }}" of the host's own variables, and of its name. Nothing: Ansible alone knows.
std::optional<std::string> filled_in(std::string_view text, const std::string& name,
                                     const HostVariables& variables, int depth = 0) {
    std::string out;
    for (auto open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
        const auto close = text.find("}}", open);
        if (close == std::string_view::npos || depth == deepest_template) {
            return std::nullopt;
        }
        const auto word = trimmed(text.substr(open + 2, close - open - 2));
        std::optional<std::string> value;
        if (word == "inventory_hostname") {
            value = name;
        } else if (word == "inventory_hostname_short") {
            value = name.substr(0, name.find('.'));
        } else if (const auto found = variables.find(std::string(word)); found != variables.end()) {
            value = filled_in(found->second, name, variables, depth + 1);
        }
        if (!value || out.size() + value->size() > longest_value) {
            return std::nullopt;
        }
        out += text.substr(0, open);
        out += *value;
        text.remove_prefix(close + 2);
    }
    return out + std::string(text);
}

// "gpu1:2222", "[2001:db8::1]:2222", "2001:db8::1".
std::pair<std::string, std::string> name_and_port(const std::string& text) {
    if (text.starts_with('[')) {
        const auto close = std::min(text.find(']'), text.size());
        const auto rest = text.substr(std::min(close + 1, text.size()));
        return {text.substr(1, close - 1), rest.starts_with(':') ? rest.substr(1) : ""};
    }
    const auto colon = text.find(':');
    if (colon == std::string::npos || text.find(':', colon + 1) != std::string::npos ||
        !whole_number<std::uint16_t>(text.substr(colon + 1))) {
        return {text, ""};
    }
    return {text.substr(0, colon), text.substr(colon + 1)};
}

Result<ListedHost> to_host(const std::string& name, const HostVariables& variables) {
    std::string values[3];
    const std::pair<const char*, const char*>* const names[3]{&address_names, &user_names, &port_names};
    for (std::size_t i = 0; i < std::size(values); ++i) {
        const auto value = variable(variables, *names[i]);
        const bool encrypted = value.starts_with("$ANSIBLE_VAULT");
        const auto filled = encrypted ? std::nullopt : filled_in(value, name, variables);
        if (!filled) {
            return list_error(0,
                              (encrypted ? std::string(names[i]->first) + " of " + printable(name) +
                                               " is encrypted, and only Ansible can read it"
                                         : "`" + printable(value) + "` of " + printable(name) +
                                               " is a template, which only Ansible can fill in"),
                              "let it: `from: {command: [ansible-inventory, --list], format: ansible}`");
        }
        values[i] = *filled;
    }
    ListedHost host{.name = name, .address = values[0], .user = values[1]};
    if (const auto& port = values[2]; !port.empty()) {
        const auto number = whole_number<std::uint16_t>(port);
        if (number.value_or(0) == 0) {
            return list_error(0, "`" + printable(port) + "` of " + printable(name) + " is not a port");
        }
        host.port = *number;
    }
    return host;
}

// "group_vars/gpu.yml" and "group_vars/gpu/ssh.yml": {"group_vars", "gpu"}.
std::pair<std::string, std::string> of_whom(const std::string& path) {
    const auto parts = split(path, '/');
    if (parts.size() < 2) {
        return {};
    }
    auto name = parts[1];
    for (const std::string_view ending : {".yml", ".yaml", ".json"}) {
        if (parts.size() == 2 && name.ends_with(ending)) {
            name.resize(name.size() - ending.size());
            break;
        }
    }
    return {parts[0], std::move(name)};
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
    return trimmed(line.substr(0, line.find('#')), " \t\r");
}

std::size_t InventoryBuilder::host(const std::string& name) {
    const auto [at, fresh] = host_at_.try_emplace(name, hosts_.size());
    if (fresh) {
        hosts_.push_back({.name = name});
    }
    return at->second;
}

std::size_t InventoryBuilder::host_with_port(const std::string& text) {
    auto [name, port] = name_and_port(text);
    const auto found = host(name);
    if (!port.empty()) {
        hosts_[found].variables.try_emplace("ansible_port", std::move(port));
    }
    return found;
}

HostVariables* InventoryBuilder::known_host(const std::string& name) {
    const auto found = host_at_.find(name);
    return found == host_at_.end() ? nullptr : &hosts_[found->second].variables;
}

Status InventoryBuilder::take_beside(const std::map<std::string, std::string>& files) {
    for (const auto& [path, text] : files) {
        const auto [kind, name] = of_whom(path);
        HostVariables* variables = nullptr;
        if (kind == "host_vars") {
            variables = known_host(name);
        } else if (name == "all" || group_at_.contains(name)) {
            variables = &groups_[group(name)].variables;
        }
        if (variables == nullptr) {
            continue;
        }
        auto read = read_ansible_variables(text);
        if (!read) {
            const auto& error = read.error();
            return list_error(0,
                              printable(path) + (error.where.empty() ? "" : ", line " + error.where) + ": " +
                                  error.message,
                              error.hint);
        }
        for (auto& [variable, value] : *read) {
            (*variables)[variable] = std::move(value);
        }
    }
    return ok;
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
    TRY(measure_depths());
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
        TRY(listed);
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
    if (pattern.starts_with('[') && std::ranges::count(pattern.substr(0, pattern.find(']')), ':') > 2) {
        return std::vector{std::string(pattern)}; // IPv6
    }
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
            return list_error(0, "`" + printable(pattern) + "` is not a range of Ansible's",
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
