#include "client/engine/transport/ssh/known_hosts.hpp"

#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>

namespace dockdist {
namespace {

// `*` and `?`; without recursion, so that no pattern takes long.
bool matches_pattern(std::string_view pattern, std::string_view name) {
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t tried = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            tried = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++tried;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') {
        ++p;
    }
    return p == pattern.size();
}

// "|1|salt|HMAC-SHA1 of the name", both in base64.
bool matches_hash(std::string_view hashed, std::string_view name) {
    constexpr std::size_t salt_size = 20;
    const auto parts = split(hashed, '|');
    const auto salt = parts.size() == 4 && parts[1] == "1" ? from_base64(parts[2]) : std::nullopt;
    if (!salt || salt->size() != salt_size) {
        return false;
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned int size = 0;
    return ::HMAC(::EVP_sha1(), salt->data(), static_cast<int>(salt->size()),
                  reinterpret_cast<const unsigned char*>(name.data()), name.size(), mac.data(),
                  &size) != nullptr &&
           hashed == fmt::format("|1|{}|{}", to_base64(*salt),
                                 to_base64({reinterpret_cast<const char*>(mac.data()), size}));
}

bool matches(std::string_view patterns, std::string_view name) {
    if (patterns.starts_with('|')) {
        return matches_hash(patterns, name);
    }
    constexpr std::size_t too_long = 1023; // for OpenSSH, which gives the line up
    bool found = false;
    for (const auto& pattern : split(patterns, ',')) {
        const bool negated = pattern.starts_with('!');
        if (pattern.size() >= too_long + (negated ? 1 : 0)) {
            return false;
        }
        if (matches_pattern(to_lower(pattern).substr(negated ? 1 : 0), name)) {
            if (negated) {
                return false;
            }
            found = true;
        }
    }
    return found;
}

// As OpenSSH reads it: with its padding, and line ends may stand in it. Empty: none.
std::string key_in_base64(std::string_view word) {
    std::string bare(word);
    std::erase_if(bare, [](char c) { return c == '\r' || c == '\v' || c == '\f'; });
    auto key = from_base64(bare);
    return key && to_base64(*key) == bare ? std::move(*key) : std::string();
}

} // namespace

void KnownHosts::add(std::string_view text, const std::string& path) {
    std::size_t number = 0;
    for (const auto& line : split(text, '\n')) {
        const Place place{path, ++number};
        // Nothing behind a NUL counts.
        const auto words = split_blanks(std::string_view(line).substr(0, line.find('\0')), " \t");
        if (words.empty() || words.front().starts_with('#')) {
            continue;
        }
        if (words.front().starts_with('@')) {
            auto& first = words.front() == "@cert-authority" ? authority_ : revoked_;
            first = first.line == 0 ? place : first;
            continue;
        }
        auto key = words.size() < 3 ? std::string() : key_in_base64(words[2]);
        if (!key.empty() && key_type(key) == words[1] && words[1].find("-cert-v") == std::string_view::npos) {
            entries_.push_back({std::string(words[0]), std::move(key), place});
        }
    }
}

std::vector<const KnownHosts::Entry*> KnownHosts::entries_of(const std::string& name) const {
    std::vector<const Entry*> found;
    for (const auto& entry : entries_) {
        if (!name.empty() && matches(entry.patterns, to_lower(name))) {
            found.push_back(&entry);
        }
    }
    return found;
}

KnownHosts::Judgement KnownHosts::judge(const KnownName& host, std::string_view key) const {
    if (revoked_.line != 0) {
        return {Verdict::marked, revoked_};
    }
    Judgement judgement;
    for (const auto* entry : entries_of(host.name)) {
        if (entry->key == key) {
            return {Verdict::known, entry->place};
        }
        if (key_type(entry->key) == key_type(key)) {
            judgement = {Verdict::changed, entry->place};
        } else if (judgement.verdict != Verdict::changed) {
            judgement = {Verdict::other_type, entry->place};
        }
    }
    // On another port, a bare name that is known by another key is another server, as OpenSSH sees it.
    if (judgement.verdict == Verdict::unknown) {
        for (const auto* entry : entries_of(host.bare)) {
            if (entry->key == key) {
                return {Verdict::known, entry->place};
            }
        }
    }
    return authority_.line != 0 ? Judgement{Verdict::marked, authority_} : judgement;
}

std::vector<std::string> KnownHosts::key_types(const KnownName& host) const {
    std::vector<std::string> types;
    for (const auto& name : {host.name, host.bare}) {
        for (const auto* entry : entries_of(name)) {
            if (const std::string type(key_type(entry->key)); std::ranges::find(types, type) == types.end()) {
                types.push_back(type);
            }
        }
    }
    return types;
}

KnownName known_name(std::string_view host, int port, std::string_view alias) {
    if (!alias.empty()) {
        return {std::string(alias), ""};
    }
    return port == 22 ? KnownName{std::string(host), ""}
                      : KnownName{fmt::format("[{}]:{}", host, port), std::string(host)};
}

} // namespace dockdist
