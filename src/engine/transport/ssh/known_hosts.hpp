// known_hosts (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys a host may show. Its judgements are
// OpenSSH's, or stricter where it says so.
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
    // `key`: the one that the host has shown.
    Judgement judge(const KnownName& host, std::string_view key) const;

    // Types of the keys that are known for the host, in the file's order, without repetition.
    std::vector<std::string> key_types(const KnownName& host) const;

private:
    struct Entry {
        enum class Mark { none, revoked, authority };
        Mark mark = Mark::none;
        std::string patterns{};
        std::string type{}; // of the key
        std::string key{};  // empty: any of that type
        Place place{};
    };
    std::vector<const Entry*> entries_of(const std::string& name) const;

    std::vector<Entry> entries_{};
};

// The words of a line as OpenSSH's files have them: between blanks and tabs, and nothing behind a NUL.
std::vector<std::string_view> ssh_words(std::string_view line);
// A public key in base64 as OpenSSH reads it: with its padding, and line ends may stand in it. Empty: none.
std::string key_in_base64(std::string_view word);
// "ssh-rsa" of "rsa-sha2-256" and of "ssh-rsa-cert-v01@openssh.com".
std::string plain_type(std::string_view type);

} // namespace dockdist
