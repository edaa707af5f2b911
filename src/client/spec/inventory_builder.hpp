// What the parsers of inventories share: hosts, groups, what a group says of all its hosts.
#pragma once

#include "client/spec/inventory.hpp"

#include <map>
#include <optional>

namespace dockdist {

// The variables that say how to reach a host; the rest of an inventory is Ansible's own.
using HostVariables = std::map<std::string, std::string>;

// An error in a line of a list, from 1; 0: of the whole.
Error list_error(std::size_t line, std::string message, std::string hint = {});

// What is left of a line without its comment and the blanks around it.
std::string_view bare_line(std::string_view line);

// Groups of groups, as Ansible has them. A group may be named before it is described.
class InventoryBuilder {
public:
    std::size_t host(const std::string& name);
    // Of a name as inventories have it: with a port, which `ansible_port` outranks; IPv6 in brackets.
    std::size_t host_with_port(const std::string& name);
    std::size_t group(const std::string& name);
    HostVariables* known_host(const std::string& name); // its variables; null: there is none of that name
    void add_host(std::size_t group, std::size_t host);
    void add_child(std::size_t group, std::size_t child);
    HostVariables& variables_of_host(std::size_t host) { return hosts_[host].variables; }
    HostVariables& variables_of_group(std::size_t group) { return groups_[group].variables; }
    std::size_t hosts() const { return hosts_.size(); }
    // What files beside the inventory say, which has the last word; of groups and hosts that are not there
    // nothing is taken.
    Status take_beside(const std::map<std::string, std::string>& files);

    // Variables of the host itself before those of its groups, of the deepest group first. Errors: a group
    // that is its own child; a variable that is no port, that is encrypted, or a template of what nobody
    // knows.
    Result<Inventory> build();

private:
    struct Host {
        std::string name{};
        HostVariables variables{};
    };
    struct Group {
        std::string name{};
        std::vector<std::size_t> hosts{}, children{};
        HostVariables variables{};
        std::size_t depth = 0;
    };
    Status measure_depths();
    void gather(std::size_t group, std::vector<bool>& seen, std::vector<bool>& members) const;

    std::vector<Host> hosts_{};
    std::vector<Group> groups_{};
    std::map<std::string, std::size_t> host_at_{}, group_at_{};
};

Result<InventoryBuilder> read_ansible_ini(std::string_view text);
Result<InventoryBuilder> read_ansible_yaml(std::string_view text);
// Nothing: the text is no JSON, or such as an inventory in YAML has, too.
std::optional<Result<InventoryBuilder>> read_ansible_json(std::string_view text);
// What stands in a file of group_vars or host_vars. Of one that is encrypted as a whole: nothing.
Result<HostVariables> read_ansible_variables(std::string_view text);

// "gpu[01:50].lab", "db-[a:f]", "[1:9:2]" as names.
Result<std::vector<std::string>> expand_ansible_range(std::string_view pattern);

} // namespace dockdist
