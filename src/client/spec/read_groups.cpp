// Groups of hosts: `groups` of a host, and `groups` of the file with ranges of names.
#include "client/spec/sections.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dockdist {
namespace {

constexpr std::size_t longest_group_name = 63;

bool check_group_name(Reader& reader, const Value& value, const std::string& name) {
    if (is_group_name(name)) {
        return true;
    }
    reader.error(value,
                 fmt::format("{} cannot be a group's name: it has 1 to 63 of a-z, A-Z, 0-9, `_`, `-`, `.`",
                             in_quotes(name)));
    return false;
}

class GroupReader {
public:
    GroupReader(Reader& reader, ClusterDraft& draft) : reader_(reader), draft_(draft) {
        for (std::size_t i = 0; i < draft.hosts.size(); ++i) {
            hosts_.try_emplace(draft.hosts[i].spec.name.str(), i);
            for (const auto& group : draft.hosts[i].spec.groups) {
                members_[group].insert(i);
            }
        }
        for (std::size_t i = 0; i < draft.hosts.size(); ++i) {
            hosts_.try_emplace(draft.hosts[i].spec.position_name, i);
        }
    }

    void read(const Value& groups) {
        for (const auto& entry : groups.node->entries) {
            const auto value = groups.member(entry);
            if (check_group_name(reader_, value, entry.key)) {
                read_group(entry.key, value);
            }
        }
        for (const auto& [name, hosts] : members_) {
            for (const auto host : hosts) {
                draft_.hosts[host].spec.groups.push_back(name);
            }
        }
    }

private:
    // A group that is named here stands above, or is of the hosts themselves: so none can be in itself.
    void read_group(const std::string& group, const Value& value) {
        std::vector<Value> items{value};
        if (value.node->kind != YamlNode::Kind::scalar) {
            items = reader_.list(value, "a list of hosts' names", "write `rack1: gpu[001-064]`");
        }
        std::set<std::size_t> members;
        for (const auto& item : items) {
            const auto text = reader_.line(item, "hosts' names");
            const auto names = text ? read_host_list(*text) : Result<std::vector<std::string>>(Error{});
            if (text && !names) {
                reader_.error(item, fmt::format("{}: {}", in_quotes(*text), names.error().message),
                              names.error().hint);
            }
            for (std::size_t i = 0; names && i < names->size(); ++i) {
                if (!add((*names)[i], item, members)) {
                    break;
                }
            }
        }
        members_[group].insert(members.begin(), members.end());
    }

    bool add(const std::string& name, const Value& at, std::set<std::size_t>& members) {
        if (name.starts_with('@')) {
            const auto found = members_.find(name.substr(1));
            if (found == members_.end() && draft_.hosts_are_known) {
                reader_.error(at, fmt::format("there is no group {}", in_quotes(name)),
                              "a group that is named here has to be defined above");
                return false;
            }
            if (found != members_.end()) {
                members.insert(found->second.begin(), found->second.end());
            }
            return true;
        }
        if (const auto found = hosts_.find(name); found != hosts_.end()) {
            members.insert(found->second);
        } else if (draft_.hosts_are_known) {
            std::vector<std::string_view> known;
            std::vector<std::string> all;
            for (const auto& host : draft_.hosts) {
                known.emplace_back(host.spec.name.str());
                all.push_back(host.spec.name.str());
            }
            const auto meant = nearest(name, known);
            reader_.error(at, fmt::format("there is no host {}", in_quotes(name)),
                          meant.empty() ? "hosts: " + short_host_list(all, 200)
                                        : fmt::format("did you mean `{}`?", meant));
            return false;
        }
        return true;
    }

    Reader& reader_;
    ClusterDraft& draft_;
    std::map<std::string, std::size_t> hosts_{};
    std::map<std::string, std::set<std::size_t>> members_{};
};

} // namespace

bool is_group_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_group_name && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    });
}

void read_host_groups(Reader& reader, const Value& value, HostDraft& draft) {
    std::vector<Value> items{value};
    if (value.node->kind != YamlNode::Kind::scalar) {
        items = reader.list(value, "a list of groups", "write `groups: [rack1]`");
    }
    for (const auto& item : items) {
        const auto name = reader.line(item, "a group's name");
        if (name && check_group_name(reader, item, *name)) {
            draft.spec.groups.push_back(*name);
        }
    }
}

void settle_groups(Reader& reader, ClusterDraft& draft) {
    draft.hosts_are_known = draft.hosts_are_known && !draft.hosts.empty();
    if (draft.groups && reader.is_map(*draft.groups, "a map", "write `rack1: gpu[001-064]` below it")) {
        GroupReader(reader, draft).read(*draft.groups);
    }
    for (auto& host : draft.hosts) {
        std::ranges::sort(host.spec.groups);
        const auto again = std::ranges::unique(host.spec.groups);
        host.spec.groups.erase(again.begin(), again.end());
    }
}

} // namespace dockdist
