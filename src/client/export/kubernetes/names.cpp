#include "client/export/kubernetes/names.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t longest_label = 63;
constexpr std::size_t longest_domain = 253;
constexpr std::size_t random_letters = 6; // "-abcde", behind the name of each pod

bool is_lower(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_ascii_alphanumeric(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

// [A-Za-z0-9] first and last, [A-Za-z0-9._-] between.
bool is_name_part(std::string_view text) {
    return !text.empty() && text.size() <= longest_label && is_ascii_alphanumeric(text.front()) &&
           is_ascii_alphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
               return is_ascii_alphanumeric(c) || c == '-' || c == '_' || c == '.';
           });
}

// Letters, digits and single `-`; none of these at an end.
std::string as_dns_label(std::string_view text) {
    std::string label;
    for (const char c : text) {
        const auto lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (is_lower(lower)) {
            label += lower;
        } else if (!label.empty() && label.back() != '-') {
            label += '-';
        }
    }
    while (label.ends_with('-')) {
        label.pop_back();
    }
    return label;
}

} // namespace

bool is_dns_label(std::string_view text) {
    return !text.empty() && text.size() <= longest_label && is_lower(text.front()) && is_lower(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_lower(c) || c == '-'; });
}

bool is_dns_domain(std::string_view text) {
    return text.size() <= longest_domain &&
           std::ranges::all_of(split(text, '.'), [](const auto& label) { return is_dns_label(label); });
}

bool is_qualified_name(std::string_view text) {
    const auto slash = text.find('/');
    return slash == std::string_view::npos
               ? is_name_part(text)
               : is_dns_domain(text.substr(0, slash)) && is_name_part(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) {
    return text.empty() || is_name_part(text);
}

Result<std::string> set_name(std::string_view job, int nodes) {
    auto name = as_dns_label(job);
    const auto shown = printable(job);
    if (name.empty() || (name.front() >= '0' && name.front() <= '9')) {
        return Error{
            ErrorKind::usage, "",
            fmt::format("`{}` cannot be the name of a JobSet: such names begin with a letter of a to z",
                        shown),
            "give it one with --name"};
    }
    const auto most =
        longest_label - random_letters - fmt::format("-{}-0-{}", pods_name, std::max(nodes, 1) - 1).size();
    if (name.size() > most) {
        return Error{
            ErrorKind::usage, "",
            fmt::format(
                "`{}` is too long for the name of a JobSet of {} pods, whose own names are made of it", shown,
                nodes),
            fmt::format("give it one of at most {} letters with --name", most)};
    }
    return name;
}

std::string claim_name(std::string_view volume) {
    return as_dns_label(volume);
}

std::string pod_address(const std::string& set, int index) {
    return fmt::format("{}-{}-0-{}.{}", set, pods_name, index, set);
}

} // namespace dockdist
