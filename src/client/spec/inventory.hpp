// Lists of hosts that stand outside of cluster.yaml: a file of names, what a command prints, an inventory of
// Ansible, a group file of clush, an allocation of Slurm. Pure: text in, hosts out.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

// Where such a list is, and how it is written.
struct HostSource {
    enum class Format { hosts, ansible, clush, slurm };
    std::string file{};                 // absolute
    std::vector<std::string> command{}; // instead of a file: a program and its arguments
                                        // (neither: slurm, the allocation that this process is in)
    Format format = Format::hosts;
    std::string group{}; // of the list, where not all of it is meant

    // What is read, as messages call it: a path, or a command line.
    std::string place() const;
    auto operator<=>(const HostSource&) const = default;
};

// As it was read, with the files of variables that an inventory of Ansible has beside it, by their path from
// its folder on: "group_vars/gpu.yml", "host_vars/gpu1/ssh.yml".
struct ListText {
    std::string text{};
    std::map<std::string, std::string> beside{};
};
using HostLists = std::map<HostSource, Result<ListText>>;

struct ListedHost {
    std::string name{};    // as the list has it; of an address alone, that
    std::string address{}; // where it differs from the name
    std::string user{};
    std::uint16_t port = 0;
    std::string peers{};           // the address that the other hosts use, where the list has one of its own
    std::optional<int> slots{};    // `slots=8` of a hostfile
    std::optional<GpuSpec> gpus{}; // of an allocation: those that are its
    std::string url{};             // the whole engine address, where the list has one
    bool operator==(const ListedHost&) const = default;
};

struct Inventory {
    std::vector<ListedHost> hosts{}; // each once, in the list's order
    // Names, and indices of hosts; with those of the groups below them.
    std::vector<std::pair<std::string, std::vector<std::size_t>>> groups{};
    std::string slurm_job{}; // the id of the allocation that it is
};

// Errors: config; where = "LINE" or empty.
//   hosts:   names, addresses, USER@NAME, engine addresses, each may be a range, between blanks or commas;
//            `slots=8` behind the last of a line, or gpu1:8; `#` begins a comment; `max_slots=` says nothing
//            here
//   ansible: INI, YAML, or the JSON of `ansible-inventory --list` and of dynamic inventories; ranges [01:50],
//            HOST:PORT, ansible_host, ansible_user, ansible_port, children, `{{ NAME }}` of the host's own
//            variables
//   clush:   "rack1: gpu[1-64]" a line, or YAML; `@rack1`, `!`, `&` in a node set
//   slurm:   what `scontrol show job --details ID` prints, and behind it `scontrol show node LIST`
// With `group` only its hosts, and what other groups say of them.
Result<Inventory> parse_inventory(const ListText& list, HostSource::Format format, const std::string& group);

// One parser a format; without the choice of a group.
Result<Inventory> parse_host_lines(std::string_view text);
Result<Inventory> parse_ansible(const ListText& list);
Result<Inventory> parse_clush_groups(std::string_view text);
Result<Inventory> parse_allocation(std::string_view text);

// The node list of the job that `scontrol show job ID` tells of. Errors: config; a job that has no nodes
// (yet, or any more), one of several components.
Result<std::string> nodes_of_allocation(std::string_view job);

} // namespace dockdist
