// known_hosts (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys a host may show. A key that is known here
// is so for OpenSSH; what a file says by markers is left to OpenSSH itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// How known_hosts may call a host.
struct KnownName {
    std::string name{}; // "[host]:2222", or "host" where the port is 22
    std::string bare{}; // "host", where the port is another one and nothing is known under `name`
};
KnownName known_name(std::string_view host, int port, std::string_view alias);

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
        unknown,    // no entry of this host
        changed,    // entries of this host, none of this key
        other_type, // entries of this host, but of other key types
        marked, // @revoked stands there, of whichever host; or a certificate authority, and the key is not
                // known
    };
    struct Judgement {
        Verdict verdict = Verdict::unknown;
        Place place{}; // of the entry that decided
    };
    // `key`: the one that the host has shown.
    Judgement judge(const KnownName& host, std::string_view key) const;

    // Types of the keys that are known for the host, in the file's order, without repetition.
    std::vector<std::string> key_types(const KnownName& host) const;

private:
    struct Entry {
        std::string patterns{};
        std::string key{};
        Place place{};
    };
    std::vector<const Entry*> entries_of(const std::string& name) const;

    std::vector<Entry> entries_{};
    Place revoked_{}, authority_{}; // the first of each
};

} // namespace dockdist
