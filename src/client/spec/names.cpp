#include "client/spec/names.hpp"

#include "shared/core/ascii.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t longest_own_name = 40;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

bool is_alnum(char c) {
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z');
}

bool all_of(std::string_view text, std::string_view signs) {
    return std::ranges::all_of(
        text, [&](char c) { return is_alnum(c) || signs.find(c) != std::string_view::npos; });
}

bool is_path_component(std::string_view text) {
    const auto edge = [](char c) { return is_lower(c) || is_digit(c); };
    return !text.empty() && edge(text.front()) && edge(text.back()) &&
           std::ranges::all_of(text, [&](char c) { return edge(c) || c == '.' || c == '_' || c == '-'; }) &&
           text.find("..") == std::string_view::npos;
}

bool is_registry(std::string_view text) {
    if (text.starts_with('[')) {
        const auto close = text.find("]:");
        return close != std::string_view::npos && all_of(text.substr(1, close - 1), ":") &&
               close + 2 < text.size() && std::ranges::all_of(text.substr(close + 2), is_digit);
    }
    const auto colon = text.find(':');
    const auto host = text.substr(0, colon);
    const bool port = colon == std::string_view::npos ||
                      (colon + 1 < text.size() && std::ranges::all_of(text.substr(colon + 1), is_digit));
    return port && !host.empty() && is_alnum(host.front()) && all_of(host, ".-");
}

} // namespace

bool is_image_reference(std::string_view text) {
    if (text.starts_with("sha256:")) {
        return text.size() >= 7 + 12 && text.size() <= 7 + 64 && is_hex(text.substr(7));
    }
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        const auto digest = text.substr(at + 1);
        if (!digest.starts_with("sha256:") || digest.size() != 7 + 64 || !is_hex(digest.substr(7))) {
            return false;
        }
        text = text.substr(0, at);
    }
    const auto last_slash = text.rfind('/');
    const auto colon = text.find(':', last_slash == std::string_view::npos ? 0 : last_slash);
    if (colon != std::string_view::npos) {
        const auto tag = text.substr(colon + 1);
        if (tag.empty() || tag.size() > 128 || tag.front() == '.' || tag.front() == '-' ||
            !all_of(tag, "_.-")) {
            return false;
        }
        text = text.substr(0, colon);
    }
    if (text.empty() || text.size() > 255) {
        return false;
    }
    auto parts = split(text, '/');
    const auto& first = parts.front();
    if (parts.size() > 1 && (first.find_first_of(".:[") != std::string::npos || first == "localhost")) {
        if (!is_registry(first)) {
            return false;
        }
        parts.erase(parts.begin());
    }
    return std::ranges::all_of(parts, [](const std::string& part) { return is_path_component(part); });
}

bool is_variable_name(std::string_view text) {
    return !text.empty() && !is_digit(text.front()) && all_of(text, "_.-");
}

bool is_shell_name(std::string_view text) {
    return !text.empty() && !is_digit(text.front()) && all_of(text, "_");
}

bool is_build_secret_id(std::string_view text) {
    return !text.empty() && (is_alnum(text.front()) || text.front() == '_') && all_of(text, "_.-");
}

bool is_volume_name(std::string_view text) {
    return text.size() >= 2 && text.size() <= 255 && is_alnum(text.front()) && all_of(text, "_.-");
}

bool is_peer_address(std::string_view text) {
    if (is_ip_address(text.substr(0, text.find('%')))) {
        return text != "0.0.0.0" && text != "::" && all_of(text, ".:%_-");
    }
    const bool numeric = std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '.'; });
    return !numeric && text.size() <= 253 && is_alnum(text.front()) && is_alnum(text.back()) &&
           all_of(text, ".-_") && text.find("..") == std::string_view::npos;
}

std::string to_cluster_name(std::string_view text) {
    std::string name;
    for (char c : text) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const bool kept = is_lower(c) || is_digit(c) ||
                          (c == '.' && !name.empty() && name.back() != '.' && name.back() != '-');
        if (kept) {
            name += c;
        } else if (!name.empty() && name.back() != '-' && name.back() != '.') {
            name += '-';
        }
    }
    name.resize(std::min(name.size(), longest_own_name));
    while (!name.empty() && !is_plain_name(name)) {
        name.pop_back();
    }
    return name.empty() ? "cluster" : name;
}

std::string to_host_name(std::string text) {
    if (is_ip_address(text)) {
        std::ranges::replace_if(text, [](char c) { return c == '.' || c == ':'; }, '-');
        return "node-" + to_lower(text);
    }
    return is_plain_name(text) ? text : to_cluster_name(text);
}

bool names_a_cluster(std::string_view text) {
    const auto kept = static_cast<std::size_t>(std::ranges::count_if(text, is_alnum));
    return kept > 0 && text.size() <= longest_own_name &&
           std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string of_allocation(std::string_view cluster, std::string_view job) {
    constexpr std::size_t longest = 63; // is_plain_name()
    auto name = std::string(cluster.substr(0, longest - std::min(longest, job.size() + 1)));
    while (!name.empty() && !is_plain_name(name)) { // it was cut at a dot
        name.pop_back();
    }
    return fmt::format("{}-{}", name, job);
}

} // namespace dockdist
