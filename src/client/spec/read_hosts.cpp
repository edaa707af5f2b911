#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

using Scheme = EngineAddress::Scheme;

constexpr std::string_view host_forms =
    "write `- ssh://USER@HOST`, or a map with `docker: URL`, `context: NAME` or `from: FILE`";

void read_docker(Reader& reader, const Value& value, HostDraft& draft) {
    draft.docker = value;
    draft.docker_text = reader.line(value, "an engine address").value_or("");
}

void read_context(Reader& reader, const Value& value, HostDraft& draft) {
    draft.context = value;
    const auto name = reader.line(value, "a context's name");
    if (name && !is_volume_name(*name)) { // Docker has one rule for both
        reader.error(value, in_quotes(*name) + " is not a context's name", "`docker context ls` lists them");
    } else if (name) {
        draft.spec.context = *name;
    }
}

template <std::string TlsFiles::* member>
void read_tls_file(Reader& reader, const Value& value, TlsFiles& files) {
    const auto path = reader.line(value, "a file's path");
    if (!path) {
        return;
    }
    if (auto resolved = reader.client_path(value, *path)) {
        files.*member = std::move(*resolved);
    }
}

constexpr std::array tls_table{
    Key<TlsFiles>{"ca", read_tls_file<&TlsFiles::ca>},
    Key<TlsFiles>{"cert", read_tls_file<&TlsFiles::cert>},
    Key<TlsFiles>{"key", read_tls_file<&TlsFiles::key>},
};

void read_tls(Reader& reader, const Value& value, HostDraft& draft) {
    static constexpr std::string_view form = "write `tls: {ca: ca.pem, cert: cert.pem, key: key.pem}`";
    draft.tls = value;
    if (value.node->kind != YamlNode::Kind::map) {
        reader.expected(value, "a map", std::string(form));
        return;
    }
    TlsFiles files;
    read_keys(reader, value, tls_keys(), files);
    for (const auto& key : tls_keys()) {
        if (value.node->find(key.name) == nullptr) {
            reader.error(value, fmt::format("`{}` is missing", key.name),
                         "TLS needs certificates on both sides: ca, cert and key");
        }
    }
    draft.spec.tls = files;
}

void read_address(Reader& reader, const Value& value, HostDraft& draft) {
    draft.address = value;
    draft.address_text = reader.line(value, "an address").value_or("");
}

void read_interface(Reader& reader, const Value& value, HostDraft& draft) {
    const auto name = reader.line(value, "a network interface");
    if (!name) {
        return;
    }
    if (name->size() > 15 || name->find_first_of("/ :=,^") != std::string::npos || *name == "." ||
        *name == "..") {
        reader.error(value, in_quotes(*name) + " is not the name of a network interface",
                     "`ip -br addr` on the host lists them");
    } else if (*name == "lo" || name->starts_with("docker")) {
        reader.error(value, fmt::format("no peer can reach a node through {}", in_quotes(*name)),
                     "name the interface that holds the host's address, or leave the key out");
    } else {
        draft.spec.interface = *name;
    }
}

std::optional<bool> read_cdi(Reader& reader, const Value& value) {
    if (value.node->kind == YamlNode::Kind::scalar && value.node->text == "auto") {
        return std::nullopt;
    }
    return reader.boolean(value);
}

constexpr std::array host_table{
    Key<HostDraft>{"name",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       draft.name = value;
                       draft.name_text = reader.line(value, "a name").value_or("");
                   }},
    Key<HostDraft>{"docker", read_docker},
    Key<HostDraft>{"context", read_context},
    Key<HostDraft>{"from", read_source},
    Key<HostDraft>{"tls", read_tls},
    Key<HostDraft>{"insecure",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       draft.insecure = value;
                       draft.spec.insecure =
                           reader.boolean(value).value_or(true); // a typo here is one mistake, not two
                   }},
    Key<HostDraft>{"address", read_address},
    Key<HostDraft>{"gpus",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       draft.gpus = value;
                       read_gpus(reader, value, draft.spec.gpus, draft.gpus_are_read);
                   }},
    Key<HostDraft>{"cdi",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       draft.cdi = value;
                       draft.spec.cdi = read_cdi(reader, value);
                   }},
    Key<HostDraft>{"slots",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       if (const auto slots = reader.integer(value, 1, 4096)) {
                           draft.spec.slots = static_cast<int>(*slots);
                       }
                   }},
    Key<HostDraft>{"nodes",
                   [](Reader& reader, const Value& value, HostDraft& draft) {
                       draft.nodes = value;
                       const auto nodes = reader.integer(value, 1, 256);
                       draft.nodes_are_read = nodes.has_value();
                       draft.spec.nodes = static_cast<int>(nodes.value_or(1));
                   }},
    Key<HostDraft>{"env", [](Reader& reader, const Value& value,
                             HostDraft& draft) { read_env(reader, value, draft.spec.env); }},
    Key<HostDraft>{"interface", read_interface},
    Key<HostDraft>{"groups", read_host_groups},
};

bool names_a_port(const EngineAddress& address) {
    const auto& url = address.url;
    const auto digits = url.find_last_not_of("0123456789/");
    return digits != std::string::npos && url[digits] == ':' && url.find("//") != digits + 1;
}

void settle_tls(Reader& reader, HostDraft& draft) {
    auto& host = draft.spec;
    const bool tcp = host.docker.scheme == Scheme::tcp;
    if (draft.tls && !tcp) {
        reader.error(
            *draft.tls,
            fmt::format("TLS is for tcp:// addresses, and this one is {}", in_quotes(host.docker.url)),
            "remove `tls`");
    } else if (draft.tls) {
        host.docker.scheme = Scheme::tls;
        if (!names_a_port(host.docker)) {
            host.docker.port = Port{2376};
        }
    } else if (tcp && !is_loopback(host.docker.host) && !host.insecure) {
        reader.error(draft.docker ? *draft.docker : draft.at,
                     fmt::format("{} without TLS: whoever reaches that port is root on the host",
                                 in_quotes(host.docker.url)),
                     "use ssh://, or add `tls: {ca, cert, key}`; on a network that you fully trust, "
                     "`insecure: true`");
    }
    if (draft.insecure && host.insecure && (!tcp || draft.tls)) {
        reader.warning(*draft.insecure, "it has no effect: the connection is safe without it", "remove it");
    }
}

// What the keys of an item say of each other, whatever hosts it stands for.
void settle_item(Reader& reader, HostDraft& draft) {
    draft.spec.line = draft.at.place.line;
    if (draft.context && (draft.docker || draft.from)) {
        reader.error(*draft.context,
                     fmt::format("the host has both `{}` and `context`", draft.docker ? "docker" : "from"),
                     "keep one of them");
    } else if (!draft.docker && !draft.context && !draft.from) {
        reader.error(draft.at, "neither `docker` nor `context` says how to reach the host's engine",
                     std::string(host_forms));
    }
    if (draft.tls && draft.context && !draft.docker) {
        reader.error(*draft.tls, "a context brings its own TLS files", "remove `tls`");
    }
    if (draft.gpus_are_read && draft.spec.cdi == false) {
        const auto& devices = draft.spec.gpus.devices;
        const auto cdi_name =
            std::ranges::find_if(devices, [](const auto& d) { return d.find('=') != std::string::npos; });
        if (cdi_name != devices.end()) {
            reader.error(*draft.gpus, fmt::format("{} is a CDI name", in_quotes(*cdi_name)),
                         "leave out `cdi: false`, or name GPUs by index or UUID");
        }
    }
}

// Of those that RFC 5737 and RFC 3849 keep for documents: nobody's machine has one, and `init` writes them.
bool is_example(std::string_view host) {
    return host.starts_with("192.0.2.") || host.starts_with("198.51.100.") ||
           host.starts_with("203.0.113.") || host.starts_with("2001:db8:");
}

void settle_host(Reader& reader, HostDraft& draft) {
    if (draft.docker_is_read && is_example(draft.spec.docker.host)) {
        reader.error(draft.docker ? *draft.docker : draft.at,
                     fmt::format("{} is an example, not a machine's address", draft.spec.docker.host),
                     "put your own machines here: `- ssh://USER@HOST`");
    } else if (draft.docker_is_read) {
        settle_tls(reader, draft);
        auto& host = draft.spec;
        if (host.address.empty() && !draft.address && !is_loopback(host.docker.host)) {
            host.address = host.docker.host;
        }
    }
}

// A mistake of one is told once, however many hosts the item stands for.
void add_hosts(Reader& reader, const HostDraft& item, ClusterDraft& draft) {
    for (auto& host : expand_hosts(reader, item, draft)) {
        const auto before = reader.errors();
        settle_host(reader, host);
        draft.hosts.push_back(std::move(host));
        if (reader.errors() != before) {
            return;
        }
    }
}

} // namespace

std::span<const Key<HostDraft>> host_keys() {
    return host_table;
}

std::span<const Key<TlsFiles>> tls_keys() {
    return tls_table;
}

void read_hosts(Reader& reader, const Value& value, ClusterDraft& draft) {
    draft.hosts_at = value;
    if (value.node->kind == YamlNode::Kind::null) {
        return; // check_cluster says that there is none
    }
    if (is_slurm(value)) {
        HostDraft host{.at = value};
        read_source(reader, value, host);
        settle_item(reader, host);
        add_hosts(reader, host, draft);
        return;
    }
    for (const auto& item :
         reader.list(value, "a list of hosts",
                     "begin each with `- `: `- ssh://USER@HOST`; or write `hosts: slurm`")) {
        HostDraft host{.at = item};
        if (item.node->kind == YamlNode::Kind::map) {
            read_keys(reader, item, host_keys(), host);
        } else if (item.node->kind == YamlNode::Kind::scalar) {
            read_docker(reader, item, host);
        } else {
            reader.expected(item, "a host", std::string(host_forms));
            host.context = item; // said once
        }
        settle_item(reader, host);
        add_hosts(reader, host, draft);
    }
}

} // namespace dockdist
