#include "core/loopback.hpp"
#include "core/text.hpp"
#include "engine/transport/ssh/algorithms.hpp"
#include "engine/transport/ssh/known_hosts.hpp"
#include "engine/transport/ssh/login.hpp"
#include "engine/transport/ssh/packet.hpp"
#include "engine/transport/ssh/revoked_keys.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <netdb.h>
#include <sys/socket.h>

namespace dockdist {
namespace {

KnownHosts read_known_hosts(const SshSettings& settings) {
    KnownHosts known;
    for (const auto& path : settings.known_hosts) {
        std::ifstream file(path, std::ios::binary);
        known.add(std::string(std::istreambuf_iterator<char>(file), {}), path);
    }
    return known;
}

// The way out of most troubles: the user's own ssh may ask, and remember.
std::string by_hand(const SshSettings& settings) {
    return fmt::format(
        "`ssh {}{}{}`", settings.port.number == 22 ? "" : fmt::format("-p {} ", settings.port.number),
        settings.user.empty() ? "" : shell_quote(settings.user + "@"), shell_quote(settings.alias));
}

Error refused(std::string message, std::string hint) {
    return {ErrorKind::unreachable, "", std::move(message), std::move(hint)};
}

Error agreement_failed(const SshSession& session, const SshSettings& settings, int code) {
    char* text = nullptr;
    ::libssh2_session_last_error(session.raw(), &text, nullptr, 0);
    const auto& where = session.where();
    if (code == LIBSSH2_ERROR_BANNER_RECV || code == LIBSSH2_ERROR_PROTO) {
        return refused(fmt::format("what answers at {} is not an ssh server", where),
                       "is the port right? (ssh://USER@HOST:PORT)");
    }
    if (code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE) {
        return refused(
            fmt::format("{} and {} have no algorithm in common that your ssh configuration allows",
                        libssh2_name(), where),
            fmt::format(
                "libssh2 before 1.11 needs a host key that is not RSA (sudo ssh-keygen -A there, then "
                "restart "
                "sshd), an aes…-ctr cipher and a MAC without -etm; or forward the socket by "
                "`ssh -NL /tmp/docker.sock:/var/run/docker.sock {}`, and name it unix:///tmp/docker.sock",
                shell_quote(settings.alias)));
    }
    return refused(fmt::format("the ssh key exchange with {} failed: {} (libssh2: {})", where,
                               text == nullptr ? "" : text, code),
                   "try " + by_hand(settings));
}

Error host_key_error(const SshSession& session, const SshSettings& settings, const std::string& name,
                     std::string_view key, const KnownHosts::Judgement& judgement,
                     const std::vector<std::string>& known_types) {
    using Verdict = KnownHosts::Verdict;
    const auto shown = fmt::format("{} {}", key_type(key), fingerprint(key));
    const auto place = fmt::format("{}:{}", judgement.place.path, judgement.place.line);
    const auto& where = session.where();
    switch (judgement.verdict) {
    case Verdict::changed:
        return refused(
            fmt::format("the host key of {} has changed: it shows {}, and {} holds another one", where, shown,
                        place),
            fmt::format("if the machine was set up anew, forget the old key: `ssh-keygen -R {} -f {}`, then "
                        "connect once with {}; if not, somebody may be in between",
                        shell_quote(name), shell_quote(judgement.place.path), by_hand(settings)));
    case Verdict::revoked:
        return refused(fmt::format("the host key of {} is revoked ({}): {}", where, place, shown),
                       "do not connect before you know why");
    case Verdict::authority_only:
        return refused(
            fmt::format("{} is known by a certificate authority alone ({}), and {} knows no host "
                        "certificates",
                        where, place, libssh2_name()),
            fmt::format("add its plain key: `ssh-keyscan {}`, compared with the fingerprint that the "
                        "machine itself shows",
                        shell_quote(settings.host)));
    case Verdict::other_type:
        return refused(
            fmt::format(
                "the host key of {} cannot be checked: it shows {}, and known_hosts ({}) holds only {}",
                where, shown, place, fmt::join(known_types, ", ")),
            fmt::format(
                "connect once with `ssh -o HostKeyAlgorithms={} {}`, compare the fingerprint, and say yes",
                key_type(key), shell_quote(settings.alias)));
    default:
        return refused(
            fmt::format("the host key of {} is not known: it shows {}", where, shown),
            fmt::format("connect once with {}, compare the fingerprint, and say yes (or, on a network that "
                        "you trust: `ssh-keyscan{} {} >>~/.ssh/known_hosts`)",
                        by_hand(settings),
                        settings.port.number == 22 ? "" : fmt::format(" -p {}", settings.port.number),
                        shell_quote(settings.host)));
    }
}

// As ssh has it, a file that cannot be read leaves no host to be trusted.
Status check_not_revoked(const SshSession& session, const SshSettings& settings, std::string_view key) {
    for (const auto& path : settings.revoked_keys) {
        std::ifstream file(path, std::ios::binary);
        const std::string content(std::istreambuf_iterator<char>(file), {});
        if (!file.is_open() || file.bad()) {
            return refused(
                fmt::format("{}, which RevokedHostKeys of the ssh configuration names, cannot be read",
                            printable(path)),
                "make the file readable, or correct the configuration (`ssh -G` shows it)");
        }
        const auto revoked = is_revoked_in(content, key);
        if (!revoked) {
            return refused(printable(path) + ": " + revoked.error().message, revoked.error().hint);
        }
        if (*revoked) {
            return refused(fmt::format("the host key of {} is revoked ({}): {} {}", session.where(),
                                       printable(path), key_type(key), fingerprint(key)),
                           "do not connect before you know why");
        }
    }
    return ok;
}

// What CheckHostIP has ssh ask about: whether known_hosts has another key for the address that was reached.
bool differs_by_address(SshSession& session, const SshSettings& settings, const KnownHosts& known,
                        std::string_view key) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    std::array<char, NI_MAXHOST> text{};
    if (!settings.check_address || !settings.proxy.empty() ||
        ::getpeername(session.descriptor(), reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0 ||
        is_loopback(text.data())) {
        return false;
    }
    using Verdict = KnownHosts::Verdict;
    auto address = known_name(text.data(), settings.port.number, "");
    address.bare.clear();
    const auto verdict = address.name == settings.host ? Verdict::known : known.judge(address, key).verdict;
    return verdict != Verdict::known && verdict != Verdict::unknown && verdict != Verdict::authority_only;
}

} // namespace

Task<Status> agree_and_check_host(std::shared_ptr<SshSession> session, SshSettings settings) {
    const auto known = read_known_hosts(settings);
    const auto name = known_name(settings.host, settings.port.number, settings.host_key_alias);
    const auto types = known.key_types(name);
    if (auto held = hold_to(session->raw(), settings.algorithms, types); !held) {
        co_return held;
    }
    const auto code = co_await session->repeat(
        [&] { return ::libssh2_session_handshake(session->raw(), session->descriptor()); });
    if (!code) {
        co_return code.error();
    }
    if (*code != 0) {
        co_return agreement_failed(*session, settings, *code);
    }
    std::size_t size = 0;
    int kind = 0;
    const char* bytes = ::libssh2_session_hostkey(session->raw(), &size, &kind);
    if (bytes == nullptr) {
        co_return refused(session->where() + " has shown no host key", "try " + by_hand(settings));
    }
    const std::string_view key(bytes, size);
    if (const auto allowed = check_not_revoked(*session, settings, key); !allowed) {
        co_return allowed.error();
    }
    const auto judgement = known.judge(name, key);
    if (judgement.verdict != KnownHosts::Verdict::known) {
        co_return host_key_error(*session, settings, name.name, key, judgement, types);
    }
    if (is_too_short(key, settings.algorithms)) {
        co_return refused(fmt::format("the host key of {} is shorter than RequiredRSASize of your ssh "
                                      "configuration allows ({} bits)",
                                      session->where(), settings.algorithms.rsa_bits),
                          "give the machine an ed25519 key: sudo ssh-keygen -A there, then restart sshd");
    }
    if (differs_by_address(*session, settings, known, key)) {
        co_return refused(fmt::format("known_hosts holds another key for the address of {} than for its "
                                      "name, and CheckHostIP of your ssh configuration asks for both",
                                      session->where()),
                          "connect once with " + by_hand(settings) + ", which names the line");
    }
    co_return ok;
}

} // namespace dockdist
