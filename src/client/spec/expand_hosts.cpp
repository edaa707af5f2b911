// One item of `hosts` as the hosts that it stands for: a range of addresses, or a list that is elsewhere.
#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::string_view default_address = "ssh://%h";

struct Listing {
    Inventory list{};
    bool many = false; // a range or a list, even if of one: its hosts have names of their own
};

// What `%h` (the machine), `%n` (its name in the list) and `%i` (its place there, from 0) stand for.
struct Meaning {
    std::string machine{}, name{};
    std::size_t place = 0;
    std::string peers{}; // ListedHost's
};

std::string filled(std::string_view text, const Meaning& meaning) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char next = text[i] == '%' && i + 1 < text.size() ? text[i + 1] : '\0';
        if (next == 'h' || next == 'n' || next == 'i') {
            out += next == 'h' ? meaning.machine : next == 'n' ? meaning.name : std::to_string(meaning.place);
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

bool is_filled_anew(std::string_view text) {
    return text.find("%h") != std::string_view::npos || text.find("%n") != std::string_view::npos ||
           text.find("%i") != std::string_view::npos;
}

std::optional<Listing> read_list(Reader& reader, const HostDraft& item, ClusterDraft& draft) {
    const auto& lists = reader.options().host_lists;
    const auto read = lists.find(*item.source);
    if (read == lists.end()) {
        draft.sources.push_back(*item.source);
        return std::nullopt;
    }
    if (!read->second) {
        reader.error(*item.from, read->second.error().message, read->second.error().hint);
        return std::nullopt;
    }
    const auto place = printable(item.source->place());
    auto list = parse_inventory(*read->second, item.source->format, item.source->group);
    if (!list) {
        const auto& error = list.error();
        reader.error(
            *item.from,
            fmt::format("{}{}: {}", place, error.where.empty() ? "" : ", line " + error.where, error.message),
            error.hint);
        return std::nullopt;
    }
    if (list->hosts.empty()) {
        reader.error(*item.from, fmt::format("{} names no host", place));
        return std::nullopt;
    }
    return Listing{std::move(*list), true};
}

std::optional<Listing> listing_of(Reader& reader, const HostDraft& item, ClusterDraft& draft) {
    if (item.from) {
        return item.source ? read_list(reader, item, draft) : std::nullopt;
    }
    if (!has_range(item.docker_text)) {
        return Listing{{.hosts = {{.url = item.docker_text}}}};
    }
    const auto urls = read_host_list(item.docker_text);
    if (!urls) {
        reader.error(*item.docker, fmt::format("{}: {}", in_quotes(item.docker_text), urls.error().message),
                     urls.error().hint);
        return std::nullopt;
    }
    Listing listing{.many = true};
    for (const auto& url : *urls) {
        listing.list.hosts.push_back({.url = url});
    }
    return listing;
}

std::string url_of(const HostDraft& item, const ListedHost& listed, const Meaning& meaning) {
    if (!listed.url.empty()) {
        return listed.url;
    }
    auto in_url = meaning;
    if (in_url.machine.find(':') != std::string::npos) { // IPv6
        in_url.machine = "[" + in_url.machine + "]";
    }
    if (!item.docker_text.empty()) {
        return filled(item.docker_text, in_url);
    }
    auto url = filled(default_address, in_url);
    if (!listed.user.empty()) {
        url.insert(url.find("//") + 2, listed.user + "@");
    }
    return listed.port == 0 ? url : fmt::format("{}:{}", url, listed.port);
}

bool set_name(Reader& reader, const HostDraft& item, const Meaning& meaning, bool many, std::size_t position,
              HostSpec& host) {
    const auto given = filled(item.name_text, meaning);
    const bool good = given.empty() || check_name(reader, *item.name, given, "a host's name");
    if (good && !given.empty()) {
        host.name = HostName(given);
    } else if (many && !meaning.name.empty()) {
        host.name = HostName(to_host_name(meaning.name));
    } else {
        host.name = HostName(fmt::format("node-{}", position));
        host.position_name = good ? host.name.str() : ""; // then name_hosts() has a better one
    }
    return good;
}

bool set_address(Reader& reader, const HostDraft& item, const Meaning& meaning, HostSpec& host) {
    if (item.address_text.empty()) {
        host.address = meaning.peers;
        return true;
    }
    const auto address = filled(item.address_text, meaning);
    if (is_peer_address(address)) {
        host.address = address;
        host.given_address = address;
        return true;
    }
    const bool port = std::ranges::count(address, ':') == 1 || address.find("]:") != std::string::npos;
    reader.error(*item.address, in_quotes(address) + " is not an address that peers can use",
                 port ? "without a port: sshd's is `ssh.port`" : "write an IP address or a host name");
    return false;
}

// One name or address for many hosts.
bool tell_the_same(Reader& reader, const HostDraft& item, std::size_t count) {
    const auto same = [&](const std::optional<Value>& value, const std::string& text, std::string_view hint) {
        if (count < 2 || text.empty() || is_filled_anew(text)) {
            return false;
        }
        reader.error(*value,
                     fmt::format("the {} hosts of this item would all have {}", count, in_quotes(text)),
                     std::string(hint));
        return true;
    };
    const bool name = same(item.name, item.name_text, "write `%i` where the host's place in the list goes");
    const bool address = same(item.address, item.address_text, "write `%h` where the host's own goes");
    const bool docker = item.from && same(item.docker, item.docker_text,
                                          "write `%h` where the host goes: `docker: ssh://ops@%h`");
    return name || address || docker;
}

std::vector<std::vector<std::string>> groups_by_host(const Inventory& list) {
    std::vector<std::vector<std::string>> groups(list.hosts.size());
    for (const auto& [name, hosts] : list.groups) {
        if (is_group_name(name)) {
            for (const auto host : hosts) {
                groups[host].push_back(name);
            }
        }
    }
    return groups;
}

} // namespace

std::vector<HostDraft> expand_hosts(Reader& reader, const HostDraft& item, ClusterDraft& draft) {
    if (!item.from && item.docker_text.empty()) { // a context, or a mistake that is told
        auto host = item;
        const bool good = set_name(reader, item, {}, false, draft.hosts.size(), host.spec) &&
                          set_address(reader, item, {}, host.spec);
        draft.hosts_are_known = draft.hosts_are_known && good;
        return {std::move(host)};
    }
    auto listing = listing_of(reader, item, draft);
    if (!listing || tell_the_same(reader, item, listing->list.hosts.size())) {
        draft.hosts_are_known = false;
        return {};
    }
    const auto& list = listing->list;
    if (draft.hosts.size() + list.hosts.size() > most_cluster_nodes) {
        reader.error(item.at, fmt::format("with this there are more than {} hosts", most_cluster_nodes));
        draft.hosts_are_known = false;
        return {};
    }
    draft.spec.slurm_job = list.slurm_job.empty() ? draft.spec.slurm_job : list.slurm_job;
    const auto groups = groups_by_host(list);
    std::vector<HostDraft> hosts;
    for (std::size_t i = 0; i < list.hosts.size(); ++i) {
        const auto& listed = list.hosts[i];
        Meaning meaning{.machine = listed.address.empty() ? listed.name : listed.address,
                        .name = listed.name,
                        .place = i,
                        .peers = listed.peers};
        auto host = item;
        auto address = parse_engine_address(url_of(item, listed, meaning));
        const auto& place = item.docker ? *item.docker : item.from ? *item.from : item.at;
        if (address) {
            host.spec.docker = std::move(*address);
            host.docker_is_read = true;
        } else {
            reader.error(place, address.error().message, address.error().hint);
        }
        if (!listed.url.empty()) {
            meaning.machine = meaning.name = host.spec.docker.host;
        }
        const bool named = set_name(reader, item, meaning, listing->many, draft.hosts.size() + i, host.spec);
        const bool placed = set_address(reader, item, meaning, host.spec);
        if (listed.slots && !host.spec.slots && !(listed.gpus && item.gpus)) {
            host.spec.slots = listed.slots;
        }
        if (listed.gpus && !item.gpus) {
            host.spec.gpus = *listed.gpus;
        }
        auto& in = host.spec.groups;
        in.insert(in.end(), groups[i].begin(), groups[i].end());
        hosts.push_back(std::move(host));
        if (!address || !named || !placed) { // of the others the same could be said
            draft.hosts_are_known = draft.hosts_are_known && list.hosts.size() == 1;
            break;
        }
    }
    return hosts;
}

} // namespace dockdist
