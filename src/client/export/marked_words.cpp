#include "client/export/marked_words.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <cctype>

namespace dockdist {
namespace {

using Kind = WordPart::Kind;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_alphanumeric(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

void add_text(MarkedWord& word, std::string_view text) {
    if (text.empty()) {
        return;
    }
    if (!word.empty() && word.back().kind == Kind::text) {
        word.back().text += text;
    } else {
        word.push_back({.kind = Kind::text, .text = std::string(text)});
    }
}

bool occurs(const LaunchRequest& request, std::string_view text) {
    const auto in = [text](const std::string& word) { return word.find(text) != std::string::npos; };
    return std::ranges::any_of(request.command, in) || std::ranges::any_of(request.options, in);
}

// How far all words agree from their beginning, or from their end: not into a number, which goes on.
std::size_t common_length(const std::vector<std::string_view>& words, bool from_end) {
    const auto at = [from_end](std::string_view word, std::size_t i) {
        return word[from_end ? word.size() - 1 - i : i];
    };
    std::size_t length = words.front().size();
    for (const auto& word : words) {
        length = std::min(length, word.size());
        std::size_t same = 0;
        while (same < length && at(word, same) == at(words.front(), same)) {
            ++same;
        }
        length = same;
    }
    while (length > 0 && is_digit(at(words.front(), length - 1))) {
        --length;
    }
    return length;
}

// Which number of the nodes these are, or are more or less than by one and the same; Kind::text: none.
WordPart number_of(const std::vector<std::string>& numbers, std::size_t first, const NodeNumbers& known) {
    std::vector<std::ptrdiff_t> read;
    for (const auto& number : numbers) {
        const auto value = whole_number<std::ptrdiff_t>(number);
        if (!value || std::to_string(*value) != number) {
            return {};
        }
        read.push_back(*value);
    }
    const auto offset_of = [&](const auto& value) -> std::optional<std::ptrdiff_t> {
        const auto offset = read.front() - static_cast<std::ptrdiff_t>(value(first));
        for (std::size_t i = 0; i < read.size(); ++i) {
            if (read[i] - static_cast<std::ptrdiff_t>(value(first + i)) != offset) {
                return std::nullopt;
            }
        }
        return offset;
    };
    const auto node = offset_of([](std::size_t i) { return i; });
    const auto rank = offset_of([&](std::size_t i) { return known.first_rank[i]; });
    if (node == 0) {
        return {.kind = Kind::node_rank};
    }
    if (offset_of([&](std::size_t i) { return known.ranks[i]; }) == 0) {
        return {.kind = Kind::ranks};
    }
    if (rank && (rank == 0 || !node)) {
        return {.kind = Kind::first_rank, .offset = *rank};
    }
    return node ? WordPart{.kind = Kind::node_rank, .offset = *node} : WordPart{};
}

} // namespace

Markers::Markers(const LaunchRequest& request, std::size_t ports) {
    for (int number = 0; mark_.empty() || occurs(request, mark_); ++number) {
        mark_ = "dockdist" + std::to_string(number) + "mark";
    }
    for (int port = 65535; ports_.size() < ports; --port) {
        if (!occurs(request, std::to_string(port))) {
            ports_.push_back(Port{static_cast<std::uint16_t>(port)});
        }
    }
    folder_ = wire::job_scratch(mark_ + "j");
}

void Markers::put_into(LaunchRequest& request, const std::vector<std::string>& names) const {
    request.job = JobId(mark_ + "j");
    request.secret = mark_ + "s";
    request.ports = ports_;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        auto& node = request.nodes[i];
        node.name = NodeName(i < names.size() ? names[i] : "node-" + std::to_string(i));
        node.address = mark_ + "a" + std::to_string(i) + "z";
        node.ports = ports_;
    }
}

MarkedWord Markers::read(std::string_view word, std::optional<std::size_t> own) const {
    MarkedWord parts;
    std::size_t at = 0;
    while (at < word.size()) {
        const auto rest = word.substr(at);
        if (rest.starts_with(folder_)) {
            parts.push_back({.kind = Kind::folder});
            at += folder_.size();
            continue;
        }
        if (rest.starts_with(mark_)) {
            const char kind = rest[mark_.size()];
            at += mark_.size() + 1;
            if (kind == 'a') {
                const auto end = word.find('z', at);
                const auto node = whole_number<std::size_t>(std::string(word.substr(at, end - at)));
                parts.push_back(node == own ? WordPart{.kind = Kind::own_address}
                                            : WordPart{.kind = Kind::address, .index = node.value_or(0)});
                at = end + 1;
            } else {
                parts.push_back({.kind = kind == 's' ? Kind::secret : Kind::job});
            }
            continue;
        }
        const auto port = std::ranges::find_if(
            ports_, [&](Port candidate) { return rest.starts_with(std::to_string(candidate.number)); });
        constexpr std::size_t digits = 5; // that markers have
        if (port != ports_.end() && (at == 0 || !is_alphanumeric(word[at - 1])) &&
            (rest.size() == digits || !is_alphanumeric(rest[digits]))) {
            parts.push_back({.kind = Kind::port, .index = static_cast<std::size_t>(port - ports_.begin())});
            at += digits;
            continue;
        }
        add_text(parts, rest.substr(0, 1));
        ++at;
    }
    return parts;
}

std::optional<MarkedWord> unify(const Markers& markers, const std::vector<std::string_view>& words,
                                std::size_t first, const NodeNumbers& numbers) {
    const auto same = [&](const auto& word) { return word == words.front(); };
    if (std::ranges::all_of(words, same)) {
        // What names a node that is alone here is its own address; the first one's is the master's.
        return words.size() == 1 && first > 0 ? markers.read(words.front(), first)
                                              : markers.read(words.front());
    }
    auto own = markers.read(words.front(), first);
    std::size_t like_it = 1;
    while (like_it < words.size() && markers.read(words[like_it], first + like_it) == own) {
        ++like_it;
    }
    if (like_it == words.size()) {
        return own;
    }
    const auto before = common_length(words, false);
    const auto after = common_length(words, true);
    std::vector<std::string> middle;
    for (const auto& word : words) {
        if (before + after >= word.size()) {
            return std::nullopt;
        }
        middle.emplace_back(word.substr(before, word.size() - before - after));
    }
    auto number = number_of(middle, first, numbers);
    if (number.kind == Kind::text || markers.cuts_address(words.front().substr(0, before))) {
        return std::nullopt;
    }
    auto word = markers.read(words.front().substr(0, before));
    word.push_back(std::move(number));
    std::ranges::move(markers.read(words.front().substr(words.front().size() - after)),
                      std::back_inserter(word));
    return word;
}

bool is_text(const MarkedWord& word) {
    return std::ranges::all_of(word, [](const WordPart& part) { return part.kind == Kind::text; });
}

std::string to_shell(const MarkedWord& word, const VariableText& variable) {
    if (word.empty()) {
        return "''";
    }
    std::string text;
    for (const auto& part : word) {
        text += part.kind == Kind::text ? shell_quote(part.text) : "\"" + variable(part) + "\"";
    }
    return text;
}

std::string to_here_document(const MarkedWord& word, const VariableText& variable) {
    std::string text;
    for (const auto& part : word) {
        if (part.kind != Kind::text) {
            text += variable(part);
            continue;
        }
        for (const char c : part.text) {
            text += c == '\\' || c == '$' || c == '`' ? "\\" : "";
            text += c;
        }
    }
    return text;
}

} // namespace dockdist
