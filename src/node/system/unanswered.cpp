#include "node/system/unanswered.hpp"

#include "node/system/os.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstdint>
#include <netinet/in.h>
#include <optional>

namespace dockdist::node {
namespace {

constexpr std::uint32_t sent_again = 5; // times
constexpr std::size_t most_unanswered = 64;
constexpr std::string_view established = "01";

std::optional<std::uint32_t> hex_word(std::string_view text) {
    std::uint32_t word = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? std::optional(word)
                                                                                     : std::nullopt;
}

// "0200000A:1F90", or four such words: each is a word of memory, so the numbers stand in the machine's order.
std::string socket_address(std::string_view text) {
    text = text.substr(0, text.find(':'));
    std::array<std::uint32_t, 4> words{};
    constexpr std::size_t digits = 8;
    if (text.size() != digits && text.size() != words.size() * digits) {
        return {};
    }
    for (std::size_t i = 0; i < text.size() / digits; ++i) {
        const auto word = hex_word(text.substr(i * digits, digits));
        if (!word) {
            return {};
        }
        words[i] = *word; // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index): at most four
    }
    std::array<char, INET6_ADDRSTRLEN> name{};
    const bool is_mapped = words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
    if (text.size() == digits || is_mapped) {
        ::inet_ntop(AF_INET, text.size() == digits ? words.data() : &words[3], name.data(), name.size());
    } else {
        ::inet_ntop(AF_INET6, words.data(), name.data(), name.size());
    }
    return name.data();
}

} // namespace

std::vector<std::string> unanswered_in(std::string_view table) {
    // sl, local, remote, state, queues, timer, times sent again, …
    constexpr std::size_t remote = 2, state = 3, again = 6;
    std::vector<std::string> found;
    for (const auto& line : split(table, '\n')) {
        const auto words = split_blanks(line);
        if (words.size() <= again || words[state] != established ||
            hex_word(words[again]).value_or(0) < sent_again) {
            continue;
        }
        if (auto address = socket_address(words[remote]);
            !address.empty() && std::ranges::find(found, address) == found.end()) {
            found.push_back(std::move(address));
        }
    }
    return found;
}

std::vector<std::string> unanswered_addresses() {
    auto all = unanswered_in(read_file_or_empty("/proc/net/tcp") + read_file_or_empty("/proc/net/tcp6"));
    all.resize(std::min(all.size(), most_unanswered));
    return all;
}

} // namespace dockdist::node
