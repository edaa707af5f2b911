#include "client/engine/transport/ssh/algorithms.hpp"
#include "client/engine/transport/ssh/known_hosts.hpp"
#include "client/engine/transport/ssh/login.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/text.hpp"

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

Error agreement_failed(SshSession& session, const SshSettings& settings, int code) {
    char* text = nullptr;
    ::libssh2_session_last_error(session.raw(), &text, nullptr, 0);
    const auto& where = session.where();
    if (code == LIBSSH2_ERROR_BANNER_RECV || code == LIBSSH2_ERROR_PROTO) {
        return refused(fmt::format("what answers at {} is not an ssh server", where),
                       "is the port right? (ssh://USER@HOST:PORT)");
    }
    if (code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE) {
        session.beyond =
            libssh2_name() + " has no algorithm in common with it that your ssh configuration allows";
        return refused(fmt::format("{} and {} have no algorithm in common that your ssh configuration allows",
                                   libssh2_name(), where),
                       "");
    }
    return refused(fmt::format("the ssh key exchange with {} failed: {} (libssh2: {})", where,
                               text == nullptr ? "" : text, code),
                   "try " + by_hand(settings));
}

Error host_key_error(const SshSession& session, const SshSettings& settings, const std::string& name,
                     std::string_view key, const KnownHosts::Judgement& judgement) {
    const auto shown = fmt::format("{} {}", key_type(key), fingerprint(key));
    const auto& where = session.where();
    if (judgement.verdict == KnownHosts::Verdict::changed) {
        return refused(
            fmt::format("the host key of {} has changed: it shows {}, and {}:{} holds another one", where,
                        shown, judgement.place.path, judgement.place.line),
            fmt::format("if the machine was reinstalled, forget the old key: `ssh-keygen -R {} -f {}`, then "
                        "connect once with {}; if not, this may be a man-in-the-middle attack",
                        shell_quote(name), shell_quote(judgement.place.path), by_hand(settings)));
    }
    return refused(
        fmt::format("the host key of {} is not known: it shows {}", where, shown),
        fmt::format("connect once with {}, compare the fingerprint, and say yes (or, on a network that "
                    "you trust: `ssh-keyscan{} {} >>~/.ssh/known_hosts`)",
                    by_hand(settings),
                    settings.port.number == 22 ? "" : fmt::format(" -p {}", settings.port.number),
                    shell_quote(settings.host)));
}

// Whether known_hosts has another key for the address that was reached, about which CheckHostIP has ssh ask.
bool differs_by_address(SshSession& session, const SshSettings& settings, const KnownHosts& known,
                        std::string_view key) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    std::array<char, NI_MAXHOST> text{};
    if (!settings.check_address || !settings.proxy.empty() ||
        ::getpeername(session.descriptor(), reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0) {
        return false;
    }
    auto address = known_name(text.data(), settings.port.number, "");
    address.bare.clear();
    const auto verdict = known.judge(address, key).verdict;
    return verdict == KnownHosts::Verdict::changed || verdict == KnownHosts::Verdict::other_type;
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
    CO_TRY(code);
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
    const auto judgement = known.judge(name, key);
    using Verdict = KnownHosts::Verdict;
    if (judgement.verdict != Verdict::known) {
        if (judgement.verdict == Verdict::marked || judgement.verdict == Verdict::other_type ||
            !settings.strict || settings.checks_otherwise) {
            session->beyond = fmt::format("known_hosts does not hold its {} key as such", key_type(key));
        }
        co_return host_key_error(*session, settings, name.name, key, judgement);
    }
    if (is_too_short(key, settings.algorithms) || differs_by_address(*session, settings, known, key)) {
        session->beyond = "RequiredRSASize or CheckHostIP has something against its key";
        co_return refused(
            fmt::format("RequiredRSASize or CheckHostIP of your ssh configuration refuses the host "
                        "key of {}",
                        session->where()),
            "");
    }
    co_return ok;
}

} // namespace dockdist
