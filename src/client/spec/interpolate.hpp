// ${VAR}, ${VAR:-default}, ${VAR-default}, ${VAR:?message}, ${VAR?message}, ${VAR:+text}, ${VAR+text}, $VAR
// and $$, as in Compose. A `$` before anything else stays a `$`. Works on one scalar after the YAML was
// parsed, so that a value can bring no YAML of its own.
#pragma once

#include "client/spec/load_spec.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace dockdist {

struct Interpolated {
    std::string text{};
    bool changed = false; // something was replaced

    // Set when it failed:
    std::string message{};
    std::string hint{};
    std::size_t offset = 0; // of the `$` in the given text
    bool quotes_text =
        false; // the message holds words that may be the value's own, not a variable's name in ${}
};

Interpolated interpolate(std::string_view text, const Environment& environment);

} // namespace dockdist
