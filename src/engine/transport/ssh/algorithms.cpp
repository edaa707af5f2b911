#include "engine/transport/ssh/algorithms.hpp"

#include "engine/transport/ssh/packet.hpp"
#include "engine/transport/ssh/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace dockdist {
namespace {

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

Status hold_to(LIBSSH2_SESSION* session, const SshAlgorithms& allowed,
               const std::vector<std::string>& known) {
    const auto hold = [&](const char* keyword, const std::vector<std::string>& names,
                          std::initializer_list<int> methods) -> Status {
        for (const int method : methods) {
            auto both = supported(session, method, names);
            if (method == LIBSSH2_METHOD_HOSTKEY) {
                both = known_first(both, known);
            }
            if (both.empty() || ::libssh2_session_method_pref(
                                    session, method, fmt::format("{}", fmt::join(both, ",")).c_str()) != 0) {
                return Error{ErrorKind::config, "",
                             fmt::format("{} has nothing of what {} of your ssh configuration allows: {}",
                                         libssh2_name(), keyword, fmt::join(names, ",")),
                             fmt::format("allow dockdist something for this host, too: `{} +NAME`; "
                                         "docs/cluster-file.md says which there are",
                                         keyword)};
            }
        }
        return ok;
    };
    auto held = hold("KexAlgorithms", allowed.key_exchange, {LIBSSH2_METHOD_KEX});
    if (held) {
        held = hold("Ciphers", allowed.ciphers, {LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC});
    }
    if (held) {
        held = hold("MACs", allowed.macs, {LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC});
    }
    return held ? hold("HostKeyAlgorithms", allowed.host_keys, {LIBSSH2_METHOD_HOSTKEY}) : held;
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
