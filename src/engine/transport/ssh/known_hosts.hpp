// known_hosts (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys a host may show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

class KnownHosts {
public:
    // Lines that are no entries are passed over, as ssh does. `path` is for messages.
    void add(std::string_view text, const std::string& path);

    struct Place {
        std::string path{};
        std::size_t line = 0; // from 1; 0: nowhere
    };
    enum class Verdict {
        known,
        unknown,        // no entry of this host
        changed,        // entries of this host, none of this key
        other_type,     // entries of this host, but of other key types
        revoked,        // marked @revoked
        authority_only, // the host is known by a certificate authority alone
    };
    struct Judgement {
        Verdict verdict = Verdict::unknown;
        Place place{}; // of the entry that decided
    };
    // `name` is the host as known_hosts has it, see known_hosts_name(); `key` the key it has shown.
    Judgement judge(std::string_view name, std::string_view key) const;

    // Types of the keys that are known for the host, in the file's order, without repetition.
    std::vector<std::string> key_types(std::string_view name) const;

private:
    struct Entry {
        enum class Mark { none, revoked, authority };
        Mark mark = Mark::none;
        std::string patterns{};
        std::string key{};
        Place place{};
    };
    std::vector<const Entry*> entries_of(std::string_view name) const;

    std::vector<Entry> entries_{};
};

// "host", or "[host]:port" where the port is not 22.
std::string known_hosts_name(std::string_view host, int port);

} // namespace dockdist
