#include "client/engine/transport/ssh/algorithms.hpp"

#include "client/engine/transport/ssh/packet.hpp"
#include "client/engine/transport/ssh/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <memory>

namespace dockdist {
namespace {

struct AlgorithmKind {
    std::string_view keyword;
    int method;
    std::vector<std::string> SshAlgorithms::* names;
};
constexpr std::array<AlgorithmKind, 6> kinds{{
    {"kexalgorithms", LIBSSH2_METHOD_KEX, &SshAlgorithms::key_exchange},
    {"ciphers", LIBSSH2_METHOD_CRYPT_CS, &SshAlgorithms::ciphers},
    {"ciphers", LIBSSH2_METHOD_CRYPT_SC, &SshAlgorithms::ciphers},
    {"macs", LIBSSH2_METHOD_MAC_CS, &SshAlgorithms::macs},
    {"macs", LIBSSH2_METHOD_MAC_SC, &SshAlgorithms::macs},
    {"hostkeyalgorithms", LIBSSH2_METHOD_HOSTKEY, &SshAlgorithms::host_keys},
}};

// Of the key that a method proves, as known_hosts has it.
std::string_view type_of(std::string_view method) {
    return method.starts_with("rsa-") ? "ssh-rsa" : method;
}

// In ssh's order, only what this libssh2 can do: 1.10 copies a list over itself when it takes out the rest.
std::vector<std::string> supported(LIBSSH2_SESSION* session, int method,
                                   const std::vector<std::string>& allowed) {
    const char** list = nullptr;
    const int count = ::libssh2_session_supported_algs(session, method, &list);
    const std::vector<std::string_view> ours(list, list + std::max(count, 0));
    ::libssh2_free(session, static_cast<void*>(list));
    std::vector<std::string> both;
    std::ranges::copy_if(allowed, std::back_inserter(both),
                         [&](const auto& name) { return std::ranges::find(ours, name) != ours.end(); });
    return both;
}

std::vector<std::string> known_first(const std::vector<std::string>& methods,
                                     const std::vector<std::string>& known) {
    std::vector<std::string> sorted;
    for (const auto& type : known) {
        std::ranges::copy_if(methods, std::back_inserter(sorted),
                             [&](const auto& method) { return type_of(method) == type; });
    }
    std::ranges::copy_if(methods, std::back_inserter(sorted), [&](const auto& method) {
        return std::ranges::find(known, type_of(method)) == known.end();
    });
    return sorted;
}

} // namespace

std::string libssh2_name() {
    return fmt::format("libssh2 {}", ::libssh2_version(0));
}

std::string lacking(const SshAlgorithms& allowed) {
    const std::unique_ptr<LIBSSH2_SESSION, int (*)(LIBSSH2_SESSION*)> session(
        ::libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr), ::libssh2_session_free);
    for (const auto& kind : kinds) {
        if (supported(session.get(), kind.method, allowed.*kind.names).empty()) {
            return fmt::format("{} {}", kind.keyword, fmt::join(allowed.*kind.names, ","));
        }
    }
    return "";
}

Status hold_to(LIBSSH2_SESSION* session, const SshAlgorithms& allowed,
               const std::vector<std::string>& known) {
    for (const auto& kind : kinds) {
        auto names = supported(session, kind.method, allowed.*kind.names);
        if (kind.method == LIBSSH2_METHOD_HOSTKEY) {
            names = known_first(names, known);
        }
        if (names.empty() ||
            ::libssh2_session_method_pref(session, kind.method,
                                          fmt::format("{}", fmt::join(names, ",")).c_str()) != 0) {
            return Error{ErrorKind::config, "",
                         fmt::format("{} accepts nothing of what {} of your ssh configuration allows",
                                     libssh2_name(), kind.keyword),
                         ""};
        }
    }
    return ok;
}

bool is_too_short(std::string_view blob, const SshAlgorithms& allowed) {
    PacketReader reader(blob);
    if (!is_rsa(blob) || !reader.string() || !reader.string()) {
        return false;
    }
    auto modulus = reader.string().value_or(std::string_view());
    modulus.remove_prefix(std::min(modulus.find_first_not_of('\0'), modulus.size()));
    const int bits = modulus.empty() ? 0
                                     : static_cast<int>(8 * (modulus.size() - 1)) +
                                           std::bit_width(static_cast<unsigned char>(modulus.front()));
    return bits < allowed.rsa_bits;
}

std::string why_not_offered(std::string_view blob, const SshAlgorithms& allowed) {
    const std::string_view algorithm = is_rsa(blob) ? "rsa-sha2-256" : key_type(blob);
    if (!is_usable(blob)) {
        return fmt::format("{} keys cannot be used by dockdist", key_type(blob));
    }
    if (std::ranges::find(allowed.user_keys, algorithm) == allowed.user_keys.end()) {
        return fmt::format("PubkeyAcceptedAlgorithms of your ssh configuration leaves {} out", algorithm);
    }
    if (is_too_short(blob, allowed)) {
        return fmt::format("RequiredRSASize of your ssh configuration is {}", allowed.rsa_bits);
    }
    return "";
}

} // namespace dockdist
