#include "client/spec/interpolate.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <optional>

namespace dockdist {
namespace {

constexpr int max_nesting = 8;
constexpr std::size_t max_text = 1U << 20U;
constexpr std::string_view dollar_hint = "a literal `$` is written `$$`";

bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::size_t name_length(std::string_view text) {
    if (text.empty() || !is_name_start(text.front())) {
        return 0;
    }
    std::size_t length = 1;
    while (length < text.size() &&
           (is_name_start(text[length]) || (text[length] >= '0' && text[length] <= '9'))) {
        ++length;
    }
    return length;
}

// The offset of the `}` that closes a `${` whose inside begins at 0; defaults may hold further ones.
std::size_t closing_brace(std::string_view text) {
    int depth = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with("$$")) {
            ++i;
        } else if (text.substr(i).starts_with("${")) {
            ++depth;
            ++i;
        } else if (text[i] == '}' && --depth == 0) {
            return i;
        }
    }
    return std::string_view::npos;
}

class Interpolator {
public:
    explicit Interpolator(const Environment& environment) : environment_(environment) {}

    Interpolated run(std::string_view text, int nesting) {
        Interpolated result;
        for (std::size_t i = 0; i < text.size();) {
            if (text[i] != '$' || i + 1 == text.size()) {
                result.text += text[i++];
                continue;
            }
            const auto rest = text.substr(i + 1);
            std::size_t taken = 0;
            if (rest.front() == '$') {
                result.text += '$';
                taken = 1;
            } else if (rest.front() == '{') {
                const auto close = closing_brace(rest.substr(1));
                if (close == std::string_view::npos) {
                    return failed("a `${` is not closed", dollar_hint, i, false);
                }
                const auto value = braced(rest.substr(1, close), nesting);
                if (!value.message.empty()) {
                    return failed(value.message, value.hint, i, value.quotes_text);
                }
                result.text += value.text;
                taken = close + 2;
            } else if (const auto length = name_length(rest); length > 0) {
                const auto name = std::string(rest.substr(0, length));
                const auto value = environment_(name);
                if (!value) {
                    return failed(fmt::format("the variable `{}` is not set", name),
                                  fmt::format("set it, or write `${{{}:-default}}`; {}", name, dollar_hint),
                                  i, true);
                }
                result.text += *value;
                taken = length;
            } else {
                result.text += '$';
                ++i;
                continue;
            }
            result.changed = true;
            i += 1 + taken;
            if (result.text.size() > max_text) {
                return failed(
                    fmt::format("with its variables expanded this has more than {} bytes", max_text), "", i,
                    false);
            }
        }
        return result;
    }

private:
    static Interpolated failed(std::string message, std::string_view hint, std::size_t offset,
                               bool quotes_text) {
        return {.message = std::move(message),
                .hint = std::string(hint),
                .offset = offset,
                .quotes_text = quotes_text};
    }

    Interpolated braced(std::string_view inside, int nesting) {
        const auto length = name_length(inside);
        if (length == 0) {
            return failed(fmt::format("`${{{}}}` names no variable", printable(inside.substr(0, 40))),
                          dollar_hint, 0, true);
        }
        const auto name = std::string(inside.substr(0, length));
        auto rest = inside.substr(length);
        auto value = environment_(name);
        if (rest.empty()) {
            return value ? Interpolated{.text = *value}
                         : failed(fmt::format("the variable `{}` is not set", name),
                                  fmt::format("set it, or give it a default: `${{{}:-default}}`", name), 0,
                                  false);
        }
        if (rest.front() == ':') { // with a colon an empty value counts as none
            rest.remove_prefix(1);
            if (value && value->empty()) {
                value.reset();
            }
        }
        if (rest.empty() || std::string_view("-?+").find(rest.front()) == std::string_view::npos) {
            return failed(fmt::format("the variable's name in `${{{}…}}` is followed by none of `:-`, `-`, "
                                      "`:?`, `?`, `:+`, `+`",
                                      name),
                          dollar_hint, 0, true);
        }
        const char operation = rest.front();
        rest.remove_prefix(1);
        if (operation == '+') {
            return value ? nested(rest, nesting) : Interpolated{};
        }
        if (value) {
            return {.text = *value};
        }
        if (operation == '-') {
            return nested(rest, nesting);
        }
        return failed(
            fmt::format("the variable `{}` is not set{}{}", name, rest.empty() ? "" : ": ", printable(rest)),
            "set it", 0, false);
    }

    Interpolated nested(std::string_view text, int nesting) {
        if (nesting >= max_nesting) {
            return failed(fmt::format("variables are nested more than {} deep", max_nesting), "", 0, false);
        }
        return run(text, nesting + 1);
    }

    const Environment& environment_;
};

} // namespace

Interpolated interpolate(std::string_view text, const Environment& environment) {
    return Interpolator(environment).run(text, 0);
}

} // namespace dockdist
