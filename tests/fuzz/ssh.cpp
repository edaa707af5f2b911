// Files and answers of the ssh family: known_hosts, keys, the agent, `ssh -G`, and what a host says of its
// socket.
#include "client/engine/transport/ssh/agent.hpp"
#include "client/engine/transport/ssh/key_file.hpp"
#include "client/engine/transport/ssh/known_hosts.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "client/engine/transport/ssh/remote_socket.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "client/engine/transport/ssh/signature.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/core/encode.hpp"

#include <array>

namespace {

using namespace dockdist;

// A key that nobody has in any file: it must never be known.
const std::string strangers_key = [] {
    std::string blob;
    put_string(blob, "ssh-ed25519");
    put_string(blob, std::string(31, 'S') + "!");
    return blob;
}();

void known_hosts(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    KnownHosts known;
    known.add(said[0], "file");
    const auto text_name = "h" + said[1].substr(0, 300);
    const auto name = known_name(text_name, text_name.size() % 2 == 0 ? 22 : 2222, "");
    using Verdict = KnownHosts::Verdict;
    const auto lines = static_cast<std::size_t>(std::ranges::count(said[0], '\n')) + 1;
    const auto judge = [&](std::string_view key) {
        const auto judgement = known.judge(name, key);
        fuzz::require(judgement.place.line <= lines, "a place is in the file");
        fuzz::require((judgement.verdict == Verdict::unknown) == (judgement.place.line == 0) ||
                          judgement.verdict == Verdict::unknown,
                      "what decided has its place");
        return judgement.verdict;
    };
    if (said[0].find(to_base64(strangers_key)) == std::string::npos) {
        const auto verdict = judge(strangers_key);
        fuzz::require(verdict != Verdict::known, "a key that stands nowhere is not known");
    }
    for (const auto& type : known.key_types(name)) {
        fuzz::require(!type.empty(), "a type has a name");
    }
    // A line that revokes it wins over all others.
    known.add("\n* ssh-ed25519 " + to_base64(strangers_key) + "\n@revoked * ssh-ed25519 " +
                  to_base64(strangers_key) + "\n",
              "more");
    fuzz::require(known.judge(name, strangers_key).verdict == Verdict::marked, "a revoked key is not known");
}

void key_file(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    const auto file = inspect_key(std::string(said[0]), said[1]);
    (void)fingerprint(file.blob);
    if (const auto key = PrivateKey::read(file)) {
        fuzz::require(file.plain, "a key that is read is a plain one");
        if (const auto signature = key->sign("data")) {
            fuzz::require(!signature->empty(), "a signature is one");
        }
    }
}

void agent(std::string_view answer) {
    if (const auto keys = parse_agent_keys(answer)) {
        std::size_t size = 0;
        for (const auto& key : *keys) {
            size += key.blob.size() + key.comment.size() + 8;
            (void)is_usable(key.blob);
            (void)agent_sign_request(key.blob, "data");
        }
        fuzz::require(size <= answer.size() && keys->size() <= answer.size(),
                      "keys are no more than the answer");
    }
    if (const auto signature = parse_agent_signature(answer)) {
        fuzz::require(signature->size() <= answer.size(), "a signature is no more than the answer");
    }
}

void blob(std::string_view bytes) {
    const auto offered = offered_blob(bytes);
    fuzz::require(is_rsa(bytes) || offered == bytes, "only RSA keys are offered by another name");
    fuzz::require(offered.size() <= bytes.size() + 16, "a key stays a key");
    (void)is_usable(bytes);
    (void)fingerprint(bytes);
}

void settings(std::string_view text) {
    const EngineAddress address{
        .scheme = EngineAddress::Scheme::ssh, .user = "u", .host = "alias", .url = "ssh://u@alias"};
    const SshSurroundings surroundings{
        .home = "/home/a", .user = "a", .environment = [](const std::string& name) {
            return name == "A" ? std::optional<std::string>("/x") : std::nullopt;
        }};
    const auto read = parse_ssh_settings(text, address, surroundings);
    fuzz::require(read.alias == "alias", "the alias is the address's");
    fuzz::require(read.alive_count >= 0 && read.alive_interval.count() >= 0, "no time is negative");
    fuzz::require(!read.connect_timeout || read.connect_timeout->count() >= 0, "no time is negative");
    fuzz::require(read == parse_ssh_settings(text, address, surroundings), "the same text says the same");
}

void socket(std::string_view text) {
    const auto report = parse_socket_report(text);
    const auto error = socket_error(report, "host-a", "me", "/run/docker.sock", "connect failed");
    fuzz::require(fuzz::has_no_controls(error.message) && fuzz::has_no_controls(error.hint),
                  "an error has no controls");
}

constexpr std::array<fuzz::Read, 6> kinds{known_hosts, key_file, agent, blob, settings, socket};

// OpenSSH's own form of an Ed25519 key (PROTOCOL.key).
std::string openssh_key() {
    std::string secret;
    put_u32(secret, 7);
    put_u32(secret, 7);
    put_string(secret, "ssh-ed25519");
    put_string(secret, std::string(32, 'P'));
    put_string(secret, std::string(64, 'P'));
    put_string(secret, "comment");
    for (char pad = 1; secret.size() % 8 != 0; ++pad) {
        secret += pad;
    }
    std::string blob = std::string("openssh-key-v1") + '\0';
    put_string(blob, "none");
    put_string(blob, "none");
    put_string(blob, "");
    put_u32(blob, 1);
    put_string(blob, strangers_key);
    put_string(blob, secret);
    return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + to_base64(blob) +
           "\n-----END OPENSSH PRIVATE KEY-----\n";
}

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const std::string key = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
    std::vector<std::string> all;
    for (const auto* host : {"node-1", "[node-1]:2222", "10.0.0.1"}) {
        all.push_back(of_kind(
            0, of_parts({"# mine\nnode-1,10.0.0.? ssh-ed25519 " + key + " c\n@revoked *,!x ssh-ed25519 " +
                             key + "\n@cert-authority *.lab ssh-ed25519 " + key +
                             "\n|1|AAECAwQFBgcICQoLDA0ODxAREhM=|AAECAwQFBgcICQoLDA0ODxAREhM= ssh-ed25519 " +
                             key + "\n[node-1]:2222 ssh-ed25519 " + key + "\n",
                         host})));
    }
    all.push_back(of_kind(1, of_parts({openssh_key(), "ssh-ed25519 " + key + " me"})));
    std::string keys("\x0C", 1);
    put_u32(keys, 2);
    for (const auto* comment : {"one", "two"}) {
        put_string(keys, strangers_key);
        put_string(keys, comment);
    }
    all.push_back(of_kind(2, keys));
    std::string signature;
    put_string(signature, "ssh-ed25519");
    put_string(signature, "signature");
    std::string answer("\x0E", 1);
    put_string(answer, signature);
    all.push_back(of_kind(2, answer));
    all.push_back(of_kind(3, strangers_key));
    std::string rsa;
    put_string(rsa, "ssh-rsa");
    put_string(rsa, std::string("\1\0\1", 3));
    all.push_back(of_kind(3, rsa));
    all.push_back(of_kind(
        4,
        "host gpu.lab\nuser me\nport 2222\nidentityfile ~/.ssh/id_ed25519\nidentityfile %d/${A}/k\n"
        "identitiesonly yes\nidentityagent SSH_AUTH_SOCK\nuserknownhostsfile ~/.ssh/known_hosts ~/.ssh/k2\n"
        "globalknownhostsfile /etc/ssh/ssh_known_hosts\nhostkeyalias x\nproxyjump a@b:22,c\nproxycommand nc "
        "%h %p\n"
        "connecttimeout 10\nserveraliveinterval 15\nserveralivecountmax 3\n"));
    all.push_back(of_kind(5, "dockdist: the socket is writable\nanswers 26.1.5\n"));
    all.push_back(of_kind(5, "dockdist: the socket is forbidden\nanswers \npermission denied\n"));
    return all;
}
