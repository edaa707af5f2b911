#include "engine/transport/ssh/known_hosts.hpp"

#include "core/ascii.hpp"
#include "core/encode.hpp"
#include "core/text.hpp"
#include "engine/transport/ssh/packet.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace dockdist {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blank = " \t\r";
    std::vector<std::string_view> words;
    for (auto begin = line.find_first_not_of(blank); begin != std::string_view::npos;) {
        const auto end = std::min(line.find_first_of(blank, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blank, end);
    }
    return words;
}

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

// "|1|salt|HMAC-SHA1 of the name|", both in base64.
bool matches_hash(std::string_view hashed, std::string_view name) {
    const auto parts = split(hashed, '|');
    if (parts.size() != 4 || parts[1] != "1") {
        return false;
    }
    const auto salt = from_base64(parts[2]);
    const auto wanted = from_base64(parts[3]);
    if (!salt || !wanted) {
        return false;
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned int size = 0;
    if (::HMAC(::EVP_sha1(), salt->data(), static_cast<int>(salt->size()),
               reinterpret_cast<const unsigned char*>(name.data()), name.size(), mac.data(),
               &size) == nullptr) {
        return false;
    }
    return wanted->size() == size && ::CRYPTO_memcmp(wanted->data(), mac.data(), size) == 0;
}

bool matches(std::string_view patterns, std::string_view name) {
    if (patterns.starts_with('|')) {
        return matches_hash(patterns, name);
    }
    bool found = false;
    for (const auto& pattern : split(patterns, ',')) {
        const bool negated = pattern.starts_with('!');
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

void KnownHosts::add(std::string_view text, const std::string& path) {
    std::size_t number = 0;
    for (const auto& line : split(text, '\n')) {
        ++number;
        auto words = words_of(line);
        Entry entry;
        entry.place = {path, number};
        if (!words.empty() && words.front().starts_with('@')) {
            if (words.front() == "@revoked") {
                entry.mark = Entry::Mark::revoked;
            } else if (words.front() == "@cert-authority") {
                entry.mark = Entry::Mark::authority;
            } else {
                continue;
            }
            words.erase(words.begin());
        }
        if (words.size() < 3 || words.front().starts_with('#')) {
            continue;
        }
        auto key = from_base64(words[2]);
        if (!key || key_type(*key) != words[1]) {
            continue;
        }
        entry.patterns = std::string(words[0]);
        entry.key = std::move(*key);
        entries_.push_back(std::move(entry));
    }
}

std::vector<const KnownHosts::Entry*> KnownHosts::entries_of(std::string_view name) const {
    const auto wanted = to_lower(name);
    std::vector<const Entry*> found;
    for (const auto& entry : entries_) {
        if (matches(entry.patterns, wanted)) {
            found.push_back(&entry);
        }
    }
    // A host on another port may also be known by its bare name: OpenSSH looks there when there is nothing
    // else.
    if (found.empty() && wanted.starts_with('[')) {
        return entries_of(std::string_view(wanted).substr(1, wanted.rfind(']') - 1));
    }
    return found;
}

KnownHosts::Judgement KnownHosts::judge(std::string_view name, std::string_view key) const {
    // A revoked key is refused wherever it stands, whatever other lines say; on another port under the bare
    // name, too, by which the host may be known.
    const auto wanted = to_lower(name);
    const auto bare = wanted.starts_with('[') ? wanted.substr(1, wanted.rfind(']') - 1) : wanted;
    for (const auto& entry : entries_) {
        if (entry.mark == Entry::Mark::revoked && entry.key == key &&
            (matches(entry.patterns, wanted) || matches(entry.patterns, bare) || entry.patterns == "*")) {
            return {Verdict::revoked, entry.place};
        }
    }
    Judgement judgement;
    for (const auto* entry : entries_of(name)) {
        if (entry->mark == Entry::Mark::revoked) {
            continue;
        }
        if (entry->mark == Entry::Mark::authority) {
            if (judgement.verdict == Verdict::unknown) {
                judgement = {Verdict::authority_only, entry->place};
            }
            continue;
        }
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
    if (name.starts_with('[') && judgement.place.line != 0) {
        const bool by_port = std::ranges::any_of(
            entries_, [&](const Entry& entry) { return matches(entry.patterns, to_lower(name)); });
        if (!by_port) {
            return {};
        }
    }
    return judgement;
}

std::vector<std::string> KnownHosts::key_types(std::string_view name) const {
    std::vector<std::string> types;
    for (const auto* entry : entries_of(name)) {
        const std::string type(key_type(entry->key));
        if (entry->mark == Entry::Mark::none && std::ranges::find(types, type) == types.end()) {
            types.push_back(type);
        }
    }
    return types;
}

std::string known_hosts_name(std::string_view host, int port) {
    return port == 22 ? std::string(host) : fmt::format("[{}]:{}", host, port);
}

} // namespace dockdist
