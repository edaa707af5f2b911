// What the user's own ssh needs to log in to the nodes of one cluster: a key pair made for that alone, the
// nodes' host keys, and, where they are installed, the entries of its configuration.
//
//   $XDG_STATE_HOME/dockdist/ssh/NAME-HASH/  0700: id_ed25519 (0600), id_ed25519.pub, known_hosts
//   ~/.ssh/dockdist/NAME-HASH.conf           the entries, 0600
//   ~/.ssh/config                            begins with one Include for all of these
//
// HASH is of the absolute path of cluster.yaml: two clusters of one name have nothing in common. ~ is the
// account's home, as for ssh, whatever HOME says. Files are replaced in one step; a link at ~/.ssh/config
// stays one, and its file keeps its mode; one that its user may not write to, or that is somebody else's,
// stays as it is. Writers of one user wait for each other.
#pragma once

#include "client/own_ssh/ssh_entries.hpp"
#include "shared/core/result.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct LoginPlaces {
    std::filesystem::path state{}; // …/dockdist/ssh
    std::filesystem::path ssh{};   // ~/.ssh
    std::string machine{};         // this one's name
};
LoginPlaces login_places(const std::function<std::optional<std::string>(const std::string&)>& environment);

// What was removed; what could not be is an error, and all else is gone.
struct LoginRemoval {
    bool own = false;  // anything of the cluster's
    bool kept = false; // its installed entries, for the next `up`
    std::vector<std::string>
        orphans{}; // each cluster.yaml that is no more, and whose entries and key went too
    Errors errors{};
};

class LoginFiles {
public:
    // `file`: cluster.yaml, absolute.
    LoginFiles(LoginPlaces places, const std::string& cluster, const std::string& file);

    // The same with the key where the installed entries name it: XDG_STATE_HOME may have been another one
    // then.
    LoginFiles as_installed() const;

    std::filesystem::path key() const { return folder_ / "id_ed25519"; }
    std::filesystem::path known_hosts() const { return folder_ / "known_hosts"; }
    const std::filesystem::path& entries() const { return entries_; }
    const LoginPlaces& places() const { return places_; }
    std::string state_home() const; // XDG_STATE_HOME that leads here
    bool installed() const;

    // The public line; not_found: there is no pair yet.
    Result<std::string> public_key() const;
    // The same, of a pair that is made where there is none.
    Result<std::string> make_key() const;

    // The host keys of these nodes and of no other.
    Status write_known_hosts(const std::vector<SshNode>& nodes) const;
    // That of one more, or its new one.
    Status renew_host_key(const std::string& node, const std::string& host_key) const;

    // Errors: conflict, where entries of another file have such a name; internal, where ~/.ssh/config cannot
    // be changed, with the line that it lacks: the entries are there then.
    Status install(const std::string& entries) const;
    // All of the above, also where the installed entries name another place for the key; and what is left of
    // files of this machine that were moved or removed since.
    // Entries that are installed may stay: without a key and host keys, which the next `up` brings.
    enum class Entries { remove, keep };
    LoginRemoval remove(Entries entries = Entries::remove) const;

private:
    Status make_folder() const;

    LoginPlaces places_;
    std::filesystem::path folder_;
    std::filesystem::path entries_;
};

} // namespace dockdist
