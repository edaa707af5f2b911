// What the user's own ssh reads of a cluster: Host entries for its nodes, their host keys, and the line that
// names the file of the entries in ~/.ssh/config. Pure: texts in, texts out.
#pragma once

#include "shared/core/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct SshNode {
    std::string node{};
    std::string user{};     // the account there
    std::string host_key{}; // "ssh-ed25519 AAAA…"
};

struct SshEntries {
    std::string prefix{}; // of the entries' names: PREFIX.NODE
    std::string cluster{};
    std::string machine{};                  // where they are made
    std::string program{};                  // dockdist, absolute
    std::string file{};                     // cluster.yaml, absolute
    std::vector<std::string> environment{}; // NAME=VALUE for the program: an editor's own may lack them
    std::string key{};                      // the private key's file, absolute
    std::string known_hosts{};              // the file, absolute
    std::vector<SshNode> nodes{};
};

struct EntriesText {
    std::string text{};
    std::vector<SshNode> nodes{}; // that have an entry in it
    Errors refused{};             // (protocol): of the others, whose user or host key would add a line
};

// ssh_config(5), one entry a node. Errors (config): a path that no ssh_config can hold.
Result<EntriesText> ssh_entries(const SshEntries& entries);

// What such a text says of itself; empty: it does not say so.
struct EntriesOrigin {
    std::string prefix{};
    std::string machine{};
    std::string file{};
    std::string key{};
};
EntriesOrigin entries_origin(std::string_view text);

// The names that the entries of such a text are for.
std::vector<std::string> entry_names(std::string_view text);

// sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT": the text with that key, and no other, for the node. Errors
// (protocol) as above.
Result<std::string> with_host_key(std::string_view known_hosts, const std::string& node,
                                  const std::string& host_key);

// ~/.ssh/config with the line that includes `pattern`, at its top: ssh takes the first value that it finds,
// and behind a Host line this one would hold for that host alone. Nothing: it stands there already, with
// nothing but other Includes before it.
std::optional<std::string> with_include(std::string_view config, const std::string& pattern);
// And as it was before. Nothing: it holds no such line of ours.
std::optional<std::string> without_include(std::string_view config, const std::string& pattern);

} // namespace dockdist
