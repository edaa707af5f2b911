#include "engine/transport/ssh/known_hosts.hpp"

#include "core/ascii.hpp"
#include "core/encode.hpp"
#include "core/text.hpp"
#include "engine/transport/ssh/packet.hpp"

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

} // namespace

std::vector<std::string_view> ssh_words(std::string_view line) {
    constexpr std::string_view blank = " \t";
    line = line.substr(0, line.find('\0'));
    std::vector<std::string_view> words;
    for (auto begin = line.find_first_not_of(blank); begin != std::string_view::npos;) {
        const auto end = std::min(line.find_first_of(blank, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blank, end);
    }
    return words;
}

std::string key_in_base64(std::string_view word) {
    std::string bare(word);
    std::erase_if(bare, [](char c) { return c == '\r' || c == '\n' || c == '\v' || c == '\f'; });
    auto key = from_base64(bare);
    return key && to_base64(*key) == bare ? std::move(*key) : std::string();
}

std::string plain_type(std::string_view type) {
    return type.starts_with("rsa-sha2-") ? "ssh-rsa" : std::string(type.substr(0, type.find("-cert-v")));
}

// What is said of a revoked key is taken as meant: behind a marker that ends in a tab (OpenSSH passes over
// some of these lines), and of any key of its type where the line holds a certificate, since OpenSSH refuses
// the key that is in it.
void KnownHosts::add(std::string_view text, const std::string& path) {
    std::size_t number = 0;
    for (const auto& line : split(text, '\n')) {
        ++number;
        auto words = ssh_words(line);
        if (words.empty() || words.front().starts_with('#')) {
            continue;
        }
        Entry entry;
        entry.place = {path, number};
        if (words.front().starts_with('@')) {
            if (words.front() == "@revoked") {
                entry.mark = Entry::Mark::revoked;
            } else if (words.front() == "@cert-authority") {
                entry.mark = Entry::Mark::authority;
            } else {
                continue;
            }
            words.erase(words.begin());
        }
        if (words.size() < 3 || words.front().starts_with('@')) {
            continue;
        }
        const bool certificate = words[1].find("-cert-v") != std::string_view::npos;
        auto key = key_in_base64(words[2]);
        const bool revoked = entry.mark == Entry::Mark::revoked;
        if (key.empty() || (revoked ? false : certificate || key_type(key) != words[1])) {
            continue;
        }
        entry.patterns = std::string(words[0]);
        entry.type = plain_type(key_type(key));
        entry.key = certificate ? std::string() : std::move(key);
        entries_.push_back(std::move(entry));
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
    // A revoked key is refused wherever it stands, whatever other lines say; on another port under the bare
    // name, too, by which the host may be known.
    const auto named = entries_of(host.name);
    const auto bare = entries_of(host.bare);
    for (const auto* entries : {&named, &bare}) {
        for (const auto* entry : *entries) {
            if (entry->mark == Entry::Mark::revoked &&
                (entry->key.empty() ? entry->type == plain_type(key_type(key)) : entry->key == key)) {
                return {Verdict::revoked, entry->place};
            }
        }
    }
    Judgement judgement;
    for (const auto* entry : named) {
        if (entry->mark == Entry::Mark::authority && judgement.verdict == Verdict::unknown) {
            judgement = {Verdict::authority_only, entry->place};
        }
        if (entry->mark != Entry::Mark::none) {
            continue;
        }
        if (entry->key == key) {
            return {Verdict::known, entry->place};
        }
        if (entry->type == key_type(key)) {
            judgement = {Verdict::changed, entry->place};
        } else if (judgement.verdict != Verdict::changed) {
            judgement = {Verdict::other_type, entry->place};
        }
    }
    // On another port, a bare name that is known by another key is another server, as OpenSSH sees it.
    if (judgement.verdict == Verdict::unknown || judgement.verdict == Verdict::authority_only) {
        for (const auto* entry : bare) {
            if (entry->mark == Entry::Mark::none && entry->key == key) {
                return {Verdict::known, entry->place};
            }
        }
    }
    return judgement;
}

std::vector<std::string> KnownHosts::key_types(const KnownName& host) const {
    std::vector<std::string> types;
    for (const auto& name : {host.name, host.bare}) {
        for (const auto* entry : entries_of(name)) {
            if (entry->mark == Entry::Mark::none && std::ranges::find(types, entry->type) == types.end()) {
                types.push_back(entry->type);
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
