#include "node/system/environment.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_variable = 100'000; // execve refuses strings of 128 KiB

bool is_named(const std::string& entry, std::string_view name) {
    return entry.size() > name.size() && entry[name.size()] == '=' &&
           entry.compare(0, name.size(), name) == 0;
}

std::string percent_encode(std::string_view text) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        if (c > ' ' && c < 0x7F && c != '%') {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += digits[byte >> 4U];
            encoded += digits[byte & 0xFU];
        }
    }
    return encoded;
}

std::string percent_decode(std::string_view text) {
    const auto digit = [](char c) -> int {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            decoded += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        } else {
            decoded += text[i];
        }
    }
    return decoded;
}

} // namespace

Environment Environment::from_block(std::string_view nul_separated) {
    Environment environment;
    while (!nul_separated.empty()) {
        const auto end = std::min(nul_separated.find('\0'), nul_separated.size());
        if (end > 0) {
            environment.entries_.emplace_back(nul_separated.substr(0, end));
        }
        nul_separated.remove_prefix(std::min(end + 1, nul_separated.size()));
    }
    return environment;
}

Environment Environment::own() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        environment.entries_.emplace_back(*entry);
    }
    return environment;
}

std::vector<std::string>::iterator Environment::find(std::string_view name) {
    return std::ranges::find_if(entries_, [&](const std::string& entry) { return is_named(entry, name); });
}

std::optional<std::string> Environment::get(std::string_view name) const {
    const auto found =
        std::ranges::find_if(entries_, [&](const std::string& entry) { return is_named(entry, name); });
    return found == entries_.end() ? std::nullopt : std::optional(found->substr(name.size() + 1));
}

void Environment::set(std::string_view name, std::string_view value) {
    auto entry = std::string(name) + "=" + std::string(value);
    if (const auto found = find(name); found != entries_.end()) {
        *found = std::move(entry);
    } else {
        entries_.push_back(std::move(entry));
    }
}

void Environment::set_default(std::string_view name, std::string_view value) {
    if (find(name) == entries_.end()) {
        set(name, value);
    }
}

void Environment::unset(std::string_view name) {
    std::erase_if(entries_, [&](const std::string& entry) { return is_named(entry, name); });
}

std::string Environment::block() const {
    std::string block;
    for (const auto& entry : entries_) {
        block += entry;
        block += '\0';
    }
    return block;
}

std::vector<char*> Environment::pointers() {
    std::vector<char*> pointers;
    for (auto& entry : entries_) {
        pointers.push_back(entry.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::string with_toolkit_first(std::string_view path) {
    const std::string bin = layout::toolkit_bin;
    const auto folders = split(path, ':');
    if (std::ranges::find(folders, bin) != folders.end()) {
        return std::string(path);
    }
    return path.empty() ? bin : bin + ":" + std::string(path);
}

std::optional<std::string> pack_variables(const std::map<std::string, std::string>& set,
                                          const std::vector<std::string>& unset) {
    std::string packed;
    for (const auto& [name, value] : set) {
        packed += (packed.empty() ? "" : " ") + percent_encode(name + "=" + value);
    }
    for (const auto& name : unset) {
        packed += (packed.empty() ? "-" : " -") + percent_encode(name);
    }
    return packed.size() > longest_variable ? std::nullopt : std::optional(packed);
}

void apply_packed(Environment& environment, std::string_view packed) {
    for (const auto& word : split(packed, ' ')) {
        const auto decoded = percent_decode(word);
        if (decoded.find('\0') != std::string::npos) {
            continue; // no variable can hold one: behind it another variable would begin
        }
        if (const auto equals = decoded.find('='); equals != std::string::npos && equals > 0) {
            environment.set(std::string_view(decoded).substr(0, equals),
                            std::string_view(decoded).substr(equals + 1));
        } else if (decoded.starts_with('-')) {
            environment.unset(std::string_view(decoded).substr(1));
        }
    }
}

} // namespace dockdist::node
